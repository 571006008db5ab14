package prom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// collected are the series of an answer, as text.
func collected(from io.Reader, labels ...string) ([]string, error) {
	var all []string
	err := readVector(from, func(s *Series) {
		text := fmt.Sprint(s.Value)
		for _, l := range labels {
			text += " " + l + "=" + s.Label(l)
		}
		all = append(all, text)
	})
	return all, err
}

func TestAnswersAreReadAsTheyArrive(t *testing.T) {
	const answer = ` {"status" : "success", "data": {"resultType":"vector","result":[
		{"metric":{"pod":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","empty":""},"value":[1700000000.5,"1.5"]},
		{"metric":{},"value":[1,"NaN"],"more":[{"deep":[true,false,null,-1.5e3]},{}]},
		{"metric":{"pod":"native"},"histogram":[1,{"count":"5"}]},
		{"value":[1,"+Inf"],"metric":{"pod":"\ud83dx\ud83d\n"}}
	]}, "warnings":["w"], "stats":{"a":[]}}`
	want := "[1.5 pod=a\"\\/\b\f\n\r\té😀 NaN pod= +Inf pod=\ufffdx\ufffd\n]"
	for name, from := range map[string]io.Reader{
		"at once": strings.NewReader(answer), "byte by byte": iotest.OneByteReader(strings.NewReader(answer)),
		"with its end": iotest.DataErrReader(strings.NewReader(answer)),
	} {
		if got, err := collected(from, "pod"); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %q, want %q; %v", name, got, want, err)
		}
	}
	for n := range len(answer) - 1 {
		if _, err := collected(strings.NewReader(answer[:n])); !errors.Is(err, errCut) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	for text, want := range map[string]string{
		`<html>`: "'<' stands where '{'", `{}`: "as the JSON of Prometheus", `{"status":"success"}`: "as the JSON of Prometheus",
		`{"status":"error","data":{"resultType":"vector","result":[]}}`:                            "as the JSON",
		`{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`:                     "it is a scalar, not a vector",
		`{"status":"success","data":{"result":[],"resultType":"matrix"}}`:                          "it is a matrix, not a vector",
		`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"x"]}]}}`:         `a value is "x"`,
		`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,2]}]}}`:           "'2' stands where",
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"\x"}}]}}`:     "unknown escape",
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"\u00zz"}}]}}`: "hexadecimal",
		"{\"status\":\"succ\ness\"}": "control character", `{"a":nil}`: `"nil" is no value`, `{"a":` + deep + `}`: "more than 100 others",
		`{"a" 1}`: "where ':' is expected", `{"a":1 "b":2}`: "a list goes on",
		`{"a":"` + strings.Repeat("x", maxText+100<<10) + `"}`: "longer than",
	} {
		if _, err := collected(strings.NewReader(text)); !errors.Is(err, errAnswer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// FuzzReadVector: any bytes are read or refused, and what encoding/json writes is read the same.
func FuzzReadVector(f *testing.F) {
	f.Add([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"2"]}]}}`), "shop", 0.25)
	f.Add([]byte(`{"data":{"result":[{"value":[1.5,"-1e-3"],"metric":{"x":"\ud800"}}],"resultType":"vector"}}`), "é<\u2028\x00\"", -1e300)
	f.Add([]byte(`{"status":"error","errorType":"bad_data","error":"no"}`), "\xff", 0.0)
	f.Fuzz(func(t *testing.T, body []byte, label string, value float64) {
		_ = readVector(bytes.NewReader(body), func(s *Series) { _ = s.Label("a") })
		name, err := json.Marshal(label)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(name, &want); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{%s:%s},"value":[1,"%v"]}]}}`, name, name,
			value)
		got, n := "", 0
		err = readVector(strings.NewReader(text), func(s *Series) {
			got, n = fmt.Sprint(s.Value, strings.Clone(s.Label(want))), n+1
		})
		if err != nil || n != 1 || got != fmt.Sprint(value, want) {
			t.Errorf("%s was read as %q: %v", text, got, err)
		}
	})
}

// TestALargeAnswerTakesLittleMemory: 60 MB of series that are not ours.
func TestALargeAnswerTakesLittleMemory(t *testing.T) {
	series := strings.Repeat(`{"metric":{"pod":"another-namespace-6d4b75cb6d-abcde","container":"main"},"value":[1700000000,"0.25"]},`, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		for sent := 0; sent < 60<<20; sent += len(series) {
			io.WriteString(w, series)
		}
		io.WriteString(w, `{"metric":{},"value":[1,"1"]}]}}`)
	}))
	defer server.Close()
	c := client(t, Server{URL: server.URL})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	if err := c.Each(t.Context(), "all", time.Unix(1, 0), func() { n = 0 }, func(*Series) { n++ }); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 || n < 500_000 {
		t.Errorf("%d series took %d bytes in all", n, used)
	}
}

// TestEachAsksAgain: an answer that is cut short comes whole the next time, and is not counted twice.
func TestEachAsksAgain(t *testing.T) {
	const answer = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]},{"metric":{},"value":[1,"2"]}]}}`
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked++; {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed) // a proxy that lets only GET through
		case r.FormValue("query") != "up" || r.FormValue("time") != "1.5":
			http.Error(w, "wrong query", http.StatusBadRequest)
		case asked == 2:
			io.WriteString(w, answer[:len(answer)-20])
		default:
			io.WriteString(w, answer)
		}
	}))
	defer server.Close()
	c := client(t, Server{URL: server.URL})
	var values []float64
	err := c.Each(t.Context(), "up", time.UnixMilli(1500), func() { values = values[:0] }, func(s *Series) { values = append(values, s.Value) })
	if err != nil || fmt.Sprint(values) != "[1 2]" || asked != 3 {
		t.Errorf("%v after %d requests: %v", values, asked, err)
	}
}
