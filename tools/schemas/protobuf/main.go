// Command protobuf prints, as JSON, how the built-in kinds of Kubernetes travel as protobuf: for every message its
// field numbers, JSON names and types, read from the struct tags of the API types. tools/schemas/protobuf.py runs it
// inside components/kubernetes, whose go.mod pins the release, and packs what it prints.
package main

import (
	"encoding/json"
	"log"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Types whose JSON form is their own business.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "json",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "intorstring",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "raw",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "schemaorbool",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "schemaorarray",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "schemaorstrings",
}

// A field is [number, JSON name, type, flags]. A type is a scalar's name, a special type's name or the index of a
// message. Flags: r repeated, m map from string, l list in a message of its own, p pointer, o omitempty, z omitzero,
// i inline.
type field [4]any

type table struct {
	index    map[reflect.Type]int
	messages [][]field
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			log.Fatal(err)
		}
	}
	t := &table{index: map[reflect.Type]int{}}
	kinds := map[string]int{}
	known := scheme.AllKnownTypes()
	names := make([]string, 0, len(known))
	types := map[string]reflect.Type{}
	for gvk, typ := range known {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		name := gvk.GroupVersion().String() + "/" + gvk.Kind
		names = append(names, name)
		types[name] = typ
	}
	sort.Strings(names)
	for _, name := range names {
		kinds[name] = t.message(types[name])
	}
	out := map[string]any{"kinds": kinds, "messages": t.messages}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}

// message returns the index of a struct's message, describing it when it is first met.
func (t *table) message(typ reflect.Type) int {
	if index, ok := t.index[typ]; ok {
		return index
	}
	index := len(t.messages)
	t.index[typ] = index
	t.messages = append(t.messages, nil)
	fields := []field{}
	for i := range typ.NumField() {
		if described, ok := t.field(typ.Field(i)); ok {
			fields = append(fields, described)
		}
	}
	t.messages[index] = fields
	return index
}

func (t *table) field(sf reflect.StructField) (field, bool) {
	tag := strings.Split(sf.Tag.Get("protobuf"), ",")
	if len(tag) < 3 {
		return field{}, false
	}
	number, err := strconv.Atoi(tag[1])
	if err != nil {
		log.Fatalf("%s: %v", sf.Name, err)
	}
	parts := strings.Split(sf.Tag.Get("json"), ",")
	name, flags := parts[0], ""
	for _, option := range parts[1:] {
		switch option {
		case "inline":
			flags += "i"
		case "omitempty":
			flags += "o"
		case "omitzero":
			flags += "z"
		}
	}
	if name == "" && !strings.Contains(flags, "i") {
		name = sf.Name
	}
	typ := sf.Type
	if typ.Kind() == reflect.Pointer {
		flags += "p"
		typ = typ.Elem()
	}
	switch {
	case typ.Kind() == reflect.Map:
		flags += "m"
		typ = typ.Elem()
		if isWrapped(typ) {
			flags += "l"
			typ = typ.Elem()
		}
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		if isWrapped(typ) {
			flags += "l"
		} else {
			flags += "r"
		}
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return field{number, name, t.kind(typ), flags}, true
}

// isWrapped tells whether a slice is a message of its own; the word rep in tags is not to be trusted.
func isWrapped(typ reflect.Type) bool {
	_, marshals := reflect.PointerTo(typ).MethodByName("MarshalTo")
	return typ.Kind() == reflect.Slice && marshals
}

func (t *table) kind(typ reflect.Type) any {
	if name, ok := special[typ.PkgPath()+"."+typ.Name()]; ok {
		if strings.HasPrefix(name, "schemaor") {
			return name + ":" + strconv.Itoa(t.message(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()))
		}
		return name
	}
	switch typ.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "int"
	case reflect.Float64:
		return "double"
	case reflect.Slice:
		return "bytes"
	case reflect.Struct:
		return t.message(typ)
	}
	log.Fatalf("no rule for %s", typ)
	return nil
}
