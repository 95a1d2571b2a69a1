{{- define "workload.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app: {{ .Chart.Name }}}
  template:
    metadata:
      labels: {app: {{ .Chart.Name }}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: main
          image: "{{ .Chart.Name }}:{{ .Chart.Version }}"
          ports:
            - {name: http, containerPort: {{ .Values.port }}}
{{- end }}

{{- define "workload.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .Chart.Name }}
spec:
  selector: {app: {{ .Chart.Name }}}
  ports:
    - {name: http, port: 80, targetPort: http}
{{- end }}
