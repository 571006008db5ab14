package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the resource.
var GroupVersion = schema.GroupVersion{Group: "loadline.dev", Version: "v1alpha1"}

// AddToScheme registers the types with a scheme.
var AddToScheme = (&schemeBuilder).AddToScheme

var schemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &LoadLine{}, &LoadLineList{}, &LoadLineClass{}, &LoadLineClassList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
})
