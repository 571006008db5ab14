package advice

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Object is an object of a cluster, as it was read.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	where string // file and document; "" = a cluster
	text  []byte // as JSON
}

// String names the object: HorizontalPodAutoscaler shop/web.
func (o *Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// faultf is a fault of the object, with where it was read.
func (o *Object) faultf(format string, args ...any) error {
	err := fmt.Errorf("%v: %w", o, fmt.Errorf(format, args...))
	if o.where != "" {
		err = fmt.Errorf("%s, %w", o.where, err)
	}
	return err
}

// group of the object's kind.
func (o *Object) group() string { return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group }

// Into decodes the object; a fault names the field.
func (o *Object) Into(typed any) error {
	err := json.Unmarshal(o.text, typed)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return o.faultf("field %s is a %s, must be a %s", wrong.Field, wrong.Value, wrong.Type)
	}
	if err != nil {
		return o.faultf("%w", err)
	}
	return nil
}

// ObjectOf is an object as a client of a cluster has it.
func ObjectOf(fields map[string]any) (Object, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return Object{}, err
	}
	var o Object
	err = json.Unmarshal(text, &o)
	o.text = text
	return o, err
}

// ReadObjects reads what kubectl get -o yaml or -o json prints: an object, a List or several
// documents. The error has every fault.
func ReadObjects(name string, r io.Reader) ([]Object, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(r))
	var all []Object
	var faults []error
	for n := 1; ; n++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		where := fmt.Sprintf("%s, document %d", name, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		found, err := objectsIn(where, text)
		all = append(all, found...)
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no object in it: write it with kubectl get hpa,vpa,scaledobject,deploy -o yaml", name)
	}
	return all, nil
}

// objectsIn a document, which may be empty or a list.
func objectsIn(where string, text []byte) ([]Object, error) {
	text, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s is no YAML: %w", where, err)
	}
	if string(text) == "null" {
		return nil, nil
	}
	var list struct {
		Object
		Items *[]json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s is no object of Kubernetes: %w", where, err)
	}
	if list.Kind == "" || list.APIVersion == "" {
		return nil, fmt.Errorf("%s has no kind or no apiVersion: give what kubectl get -o yaml prints", where)
	}
	if list.Items == nil {
		list.where, list.text = where, text
		return []Object{list.Object}, nil
	}
	var all []Object
	var faults []error
	for i, item := range *list.Items {
		found, err := objectsIn(fmt.Sprintf("%s, item %d", where, i+1), item)
		all = append(all, found...)
		faults = append(faults, err)
	}
	return all, errors.Join(faults...)
}
