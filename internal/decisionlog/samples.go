package decisionlog

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Samples are the measurements by the metrics of a table. In JSON each has the table's key, and
// absent ones are omitted.
type Samples[M ~int] []Sample

// Of a metric; absent if the record does not have it.
func (s Samples[M]) Of(m M) Sample {
	if int(m) >= len(s) {
		return Sample{}
	}
	return s[m]
}

// samplesOf copies an observation.
func samplesOf[M ~int, O any](t loadline.Table[M, O], at time.Time, o *O) Samples[M] {
	list := make(Samples[M], len(t))
	for m := range t {
		if f := t[m].Field; f != nil {
			list[m] = sampleOf(at, *f(o))
		}
	}
	return list
}

// restore puts the samples into an observation.
func restore[M ~int, O any](t loadline.Table[M, O], s Samples[M], at time.Time, o *O) {
	for m := range t {
		if f := t[m].Field; f != nil {
			*f(o) = s.Of(M(m)).at(at)
		}
	}
}

// appendSamples writes the members of an object, each with a comma after it.
func appendSamples[M ~int, O any](b []byte, t loadline.Table[M, O], s Samples[M]) []byte {
	open := ""
	for m := range t {
		sample := s.Of(M(m))
		if !sample.Present {
			continue
		}
		group, key, nested := strings.Cut(t[m].LogKey(), ".")
		if !nested {
			group, key = "", group
		}
		if group != open {
			b = closeGroup(b, open)
			if open = group; group != "" {
				b = append(append(append(b, '"'), group...), `":{`...)
			}
		}
		b = append(append(append(b, '"'), key...), `":`...)
		b = append(sample.append(b), ',')
	}
	return closeGroup(b, open)
}

// closeGroup ends an object of samples, if one is open.
func closeGroup(b []byte, open string) []byte {
	if open == "" {
		return b
	}
	b[len(b)-1] = '}' // instead of the comma
	return append(b, ',')
}

// readSamples reads the samples of an object. Unknown members are ignored.
func readSamples[M ~int, O any](t loadline.Table[M, O], object []byte) (Samples[M], error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	groups := map[string]map[string]json.RawMessage{"": members}
	s := make(Samples[M], len(t))
	for m := range t {
		if t[m].Field == nil {
			continue
		}
		group, key, nested := strings.Cut(t[m].LogKey(), ".")
		if !nested {
			group, key = "", group
		}
		if _, known := groups[group]; !known {
			var inner map[string]json.RawMessage
			if text, has := members[group]; has {
				if err := json.Unmarshal(text, &inner); err != nil {
					return nil, fmt.Errorf("%s: %w", group, err)
				}
			}
			groups[group] = inner
		}
		if text, has := groups[group][key]; has {
			if err := s[m].UnmarshalJSON(text); err != nil {
				return nil, fmt.Errorf("%s: %w", t[m].LogKey(), err)
			}
		}
	}
	return s, nil
}

// appendJoined appends one object of members that end with a comma and an encoded object,
// the object's members first or last.
func appendJoined(b, members []byte, rest any, restFirst bool) ([]byte, error) {
	object, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	inner := object[1 : len(object)-1]
	b = append(b, '{')
	if restFirst && len(inner) > 0 {
		b = append(append(b, inner...), ',')
	}
	b = append(b, members...)
	if !restFirst && len(inner) > 0 {
		b = append(append(b, inner...), ',')
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

// The other fields of records, without the methods below.
type (
	plainSeen Seen
	plainPod  Pod
	plainKind Kind
	plainNode Node
)

// MarshalJSON writes the samples before the other fields. Pods are appended one by one: as a
// field each would be parsed and copied again.
func (s Seen) MarshalJSON() ([]byte, error) {
	b := appendSamples(append(make([]byte, 0, 512), '{'), loadline.ServiceTable, s.Samples)
	if s.Brownout {
		b = append(b, `"brownout":true,`...)
	}
	if len(s.Pods) > 0 {
		b = append(b, `"pods":[`...)
		for i := range s.Pods {
			var err error
			if b, err = s.Pods[i].appendTo(b); err != nil {
				return nil, err
			}
			b = append(b, ',')
		}
		b[len(b)-1] = ']'
		b = append(b, ',')
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

// UnmarshalJSON is the reverse.
func (s *Seen) UnmarshalJSON(text []byte) (err error) {
	if err = json.Unmarshal(text, (*plainSeen)(s)); err == nil {
		s.Samples, err = readSamples(loadline.ServiceTable, text)
	}
	return err
}

// MarshalJSON writes the samples after the other fields.
func (p Pod) MarshalJSON() ([]byte, error) { return p.appendTo(nil) }

func (p *Pod) appendTo(b []byte) ([]byte, error) {
	return appendJoined(b, appendSamples(nil, loadline.PodTable, p.Samples), (*plainPod)(p), true)
}

// UnmarshalJSON is the reverse.
func (p *Pod) UnmarshalJSON(text []byte) (err error) {
	if err = json.Unmarshal(text, (*plainPod)(p)); err == nil {
		p.Samples, err = readSamples(loadline.PodTable, text)
	}
	return err
}

// MarshalJSON writes the samples after the name.
func (k Kind) MarshalJSON() ([]byte, error) {
	return appendJoined(nil, appendSamples(nil, loadline.KindTable, k.Samples), plainKind(k), true)
}

// UnmarshalJSON is the reverse.
func (k *Kind) UnmarshalJSON(text []byte) (err error) {
	if err = json.Unmarshal(text, (*plainKind)(k)); err == nil {
		k.Samples, err = readSamples(loadline.KindTable, text)
	}
	return err
}

// MarshalJSON writes the samples among the other fields.
func (n Node) MarshalJSON() ([]byte, error) {
	return appendJoined(nil, appendSamples(nil, loadline.NodeTable, n.Samples), plainNode(n), false)
}

// UnmarshalJSON is the reverse.
func (n *Node) UnmarshalJSON(text []byte) (err error) {
	if err = json.Unmarshal(text, (*plainNode)(n)); err == nil {
		n.Samples, err = readSamples(loadline.NodeTable, text)
	}
	return err
}
