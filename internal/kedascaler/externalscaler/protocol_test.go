package externalscaler

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What goes over the wire is agreed with KEDA: a name or a number that changes
// here is a scaler that KEDA cannot read.
func TestProtocolIsKEDAs(t *testing.T) {
	file := File_externalscaler_proto
	if file.Package() != "externalscaler" {
		t.Errorf("package %s", file.Package())
	}
	for message, fields := range map[protoreflect.Name]map[protoreflect.Name]struct {
		number protoreflect.FieldNumber
		kind   string
	}{
		"ScaledObjectRef":       {"name": {1, "string"}, "namespace": {2, "string"}, "scalerMetadata": {3, "map"}},
		"IsActiveResponse":      {"result": {1, "bool"}},
		"GetMetricSpecResponse": {"metricSpecs": {1, "list"}},
		"MetricSpec":            {"metricName": {1, "string"}, "targetSize": {2, "int64"}, "targetSizeFloat": {3, "double"}},
		"GetMetricsRequest":     {"scaledObjectRef": {1, "message"}, "metricName": {2, "string"}},
		"GetMetricsResponse":    {"metricValues": {1, "list"}},
		"MetricValue":           {"metricName": {1, "string"}, "metricValue": {2, "int64"}, "metricValueFloat": {3, "double"}},
	} {
		m := file.Messages().ByName(message)
		if m == nil || m.Fields().Len() != len(fields) {
			t.Errorf("message %s: %v", message, m)
			continue
		}
		for name, want := range fields {
			f := m.Fields().ByName(name)
			if f == nil || f.Number() != want.number || kindOf(f) != want.kind {
				t.Errorf("field %s of %s is %v, want %s with number %d", name, message, f, want.kind, want.number)
			}
		}
	}
	methods := file.Services().ByName("ExternalScaler").Methods()
	for method, streams := range map[protoreflect.Name]bool{
		"IsActive": false, "StreamIsActive": true, "GetMetricSpec": false, "GetMetrics": false, "StreamMetricSpec": true,
	} {
		m := methods.ByName(method)
		if m == nil || m.IsStreamingServer() != streams || m.IsStreamingClient() {
			t.Errorf("method %s: %v", method, m)
		}
	}
	if methods.Len() != 5 {
		t.Errorf("%d methods", methods.Len())
	}
}

func kindOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map"
	case f.IsList():
		return "list"
	}
	return f.Kind().String()
}

// The bytes were worked out by hand from the field numbers.
func TestBytesOnTheWire(t *testing.T) {
	got, err := proto.Marshal(&GetMetricsResponse{MetricValues: []*MetricValue{{MetricName: "m", MetricValue: 12, MetricValueFloat: 12}}})
	want := []byte{
		0x0a, 14, // metricValues, 14 bytes
		0x0a, 1, 'm', // metricName
		0x10, 12, // metricValue
		0x19, 0, 0, 0, 0, 0, 0, 0x28, 0x40, // metricValueFloat
	}
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}
	var r ScaledObjectRef
	raw := []byte{0x0a, 1, 'a', 0x12, 1, 'b', 0x1a, 6, 0x0a, 1, 'k', 0x12, 1, 'v'}
	if err := proto.Unmarshal(raw, &r); err != nil || r.Name != "a" || r.Namespace != "b" || r.ScalerMetadata["k"] != "v" {
		t.Errorf("got %v, %v", &r, err)
	}
}
