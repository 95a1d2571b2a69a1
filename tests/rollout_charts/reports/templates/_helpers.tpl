{{- define "reports.name" -}}
{{ .Release.Name }}-{{ .Chart.Name }}
{{- end }}

{{- define "reports.labels" -}}
app: {{ .Chart.Name }}
{{- end }}

{{- define "reports.environment" -}}
{{- range $name, $value := .Values.environment }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
- name: TITLE
  value: {{ tpl .Values.title . | quote }}
{{- end }}
