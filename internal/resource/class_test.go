package resource

import (
	"errors"
	"strings"
	"testing"
	"time"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

func class(name string, created int, isDefault bool) v1alpha1.LoadLineClass {
	c := v1alpha1.LoadLineClass{ObjectMeta: metav1.ObjectMeta{Name: name,
		CreationTimestamp: metav1.NewTime(time.Unix(int64(created), 0))}}
	if isDefault {
		c.Annotations = map[string]string{v1alpha1.DefaultClassAnnotation: "true"}
	}
	return c
}

func TestClassOf(t *testing.T) {
	classes := []v1alpha1.LoadLineClass{class("a", 1, true), class("b", 3, true), class("c", 2, true), class("d", 9, false)}
	for _, row := range []struct {
		name, asks, want string
		classes          []v1alpha1.LoadLineClass
	}{
		{"by name", "d", "d", classes},
		{"the default that was created last", "", "b", classes},
		{"no default", "", "", classes[3:]},
		{"no class at all", "", "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ClassOf(&v1alpha1.LoadLine{Spec: v1alpha1.LoadLineSpec{ClassName: row.asks}}, row.classes)
			if err != nil || (got == nil) != (row.want == "") || got != nil && got.Name != row.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	_, err := ClassOf(&v1alpha1.LoadLine{Spec: v1alpha1.LoadLineSpec{ClassName: "standrad"}},
		[]v1alpha1.LoadLineClass{class("standard", 1, true)})
	if !errors.Is(err, ErrNoClass) || !strings.Contains(err.Error(), `"standrad"`) || !strings.Contains(err.Error(), "standard") {
		t.Errorf("%v", err)
	}
}

// Credentials go only to the server that they were given for.
func TestTheServerIsOfOneSource(t *testing.T) {
	token := &v1alpha1.SecretKey{Name: "operator", Key: "token"}
	c := class("standard", 1, true)
	c.Spec.Prometheus = &v1alpha1.PrometheusServer{URL: "https://mimir", BearerToken: token}
	own := &v1alpha1.LoadLine{}
	own.Spec.Prometheus.URL = "http://mine"
	m, err := MeteringOf(own, &c, "http://default")
	if err != nil || m.ByClass || m.Source.URL != "http://mine" || m.Source.BearerToken != nil {
		t.Errorf("its own server: %+v, %v", m, err)
	}
	none := &v1alpha1.LoadLine{}
	none.Spec.Prometheus = v1alpha1.PrometheusSource{Preset: "istio", PrometheusServer: v1alpha1.PrometheusServer{
		Headers: []v1alpha1.Header{{Name: "X-Scope-OrgID", Value: "other"}}}}
	m, err = MeteringOf(none, &c, "http://default")
	if err != nil || !m.ByClass || m.Source.URL != "https://mimir" || m.Source.Preset != "istio" ||
		m.Source.BearerToken.Name != "operator" || m.Source.Headers != nil {
		t.Errorf("the class's server: %+v, %v", m, err)
	}
	bare := class("bare", 1, false)
	for name, c := range map[string]*v1alpha1.LoadLineClass{"no class is named": nil, "its class bare": &bare} {
		_, err := MeteringOf(none, c, "")
		if !errors.Is(err, ErrNoPrometheus) || !strings.Contains(err.Error(), strings.TrimPrefix(name, "no class is ")) {
			t.Errorf("%s: %v", name, err)
		}
		none.Spec.Prometheus.BearerToken = token // for no server: it must not go to the default
		m, err := MeteringOf(none, c, "http://default")
		if err != nil || m.ByClass || m.Source.URL != "http://default" || m.Source.BearerToken != nil || m.Source.Headers != nil ||
			m.Source.Preset != "istio" {
			t.Errorf("%s: the installation's default: %+v, %v", name, m, err)
		}
	}
}

func TestPricesOfAClass(t *testing.T) {
	core := v1alpha1.Decimal(0.05)
	c := class("standard", 1, false)
	c.Spec.Prices = &v1alpha1.Prices{CoreHour: &core,
		Instances: map[string]v1alpha1.Number{"m5.xlarge": v1alpha1.Decimal(0.2)}, Currency: "EUR"}
	p, err := PricesOf(&c)
	if err != nil || p.CoreHour != 0.05 || p.GiBHour == 0 || p.Instances["m5.xlarge"] != 0.2 || p.Currency != "EUR" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAmountsThereAndBack(t *testing.T) {
	r := loadline.Room{Cores: 1.5, Memory: 3 << 30}
	if got := RoomOf(Amount(r)); got != r {
		t.Errorf("%+v became %+v", r, got)
	}
	if got := RoomOf(nil); got != (loadline.Room{}) {
		t.Errorf("%+v", got)
	}
	written := v1alpha1.Room{CPU: quantity.MustParse("250m"), Memory: quantity.MustParse("1Gi")}
	if got := Room(written); got.Cores != 0.25 || got.Memory != 1<<30 {
		t.Errorf("%+v", got)
	}
}
