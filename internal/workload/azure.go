package workload

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Azure's public traces of invocations. Functions 2019 has counts per minute, one file per day
// (Concat joins days); Functions 2021 and LLM 2023 have one row per invocation.

const minutesPerDay = 1440

var azure2019 = &format{
	name:    "azure2019",
	help:    "Azure Functions 2019 invocations_per_function: counts per minute, one day a file",
	combine: CombineSum,
	columns: azure2019Columns(),
	headed:  true,
	keys:    []string{"HashFunction", "HashApp", "HashOwner", "Trigger"},
	open: func(in *input) func() {
		if in.opts.Step%time.Minute != 0 {
			in.faults.add(0, "step", in.opts.Step.String(), "must be a multiple of 1m0s: format azure2019 counts by the minute")
		}
		return func() {
			if !in.selected(in.field) {
				return
			}
			for minute := range minutesPerDay {
				text := in.text(4 + minute)
				if len(text) == 1 && text[0] == '0' {
					continue // the most frequent case
				}
				count, err := parseNumber(text)
				if err != nil || count < 0 || count != math.Trunc(count) {
					in.fault("minute "+strconv.Itoa(minute+1), string(text), "must be a whole number of at least 0")
					continue
				}
				in.put(int64(minute)*int64(time.Minute), count)
			}
			// The day is complete whatever its first and last minutes contain.
			in.put(0, 0)
			in.put((minutesPerDay-1)*int64(time.Minute), 0)
		}
	},
}

func azure2019Columns() []string {
	columns := []string{"HashOwner", "HashApp", "HashFunction", "Trigger"}
	for minute := range minutesPerDay {
		columns = append(columns, strconv.Itoa(minute+1))
	}
	return columns
}

var azure2021 = &format{
	name:    "azure2021",
	help:    "Azure Functions 2021: one invocation a row, two weeks; arrival = end_timestamp - duration",
	combine: CombineSum,
	columns: []string{"app", "func", "end_timestamp", "duration"},
	headed:  true,
	keys:    []string{"func", "app"},
	open: func(in *input) func() {
		return func() {
			if !in.selected(in.field) {
				return
			}
			end, ok := in.instant("end_timestamp", in.text(2), time.Second)
			if !ok {
				return
			}
			took, ok := in.instant("duration", in.text(3), time.Second)
			if !ok {
				return
			}
			in.put(end-took, 1)
		}
	},
}

var azureLLM = &format{
	name:    "azure-llm",
	help:    "Azure LLM inference 2023 and 2024: one request a row",
	combine: CombineSum,
	columns: []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
	headed:  true,
	open: func(in *input) func() {
		return func() {
			in.selected(in.field)
			at, err := parseStamp(in.text(0))
			if err != nil {
				in.fault("TIMESTAMP", string(in.text(0)), err.Error())
				return
			}
			for column, name := range []string{1: "ContextTokens", 2: "GeneratedTokens"} {
				if name == "" {
					continue
				}
				if n, err := parseNumber(in.text(column)); err != nil || n < 0 {
					in.fault(name, string(in.text(column)), "must be a number of at least 0")
					return
				}
			}
			in.put(at, 1)
		}
	},
}

// parseStamp reads "2023-11-16 18:15:46.6805900", with or without a zone (the
// 2024 files have +00:00), as nanoseconds since 1970.
func parseStamp(text []byte) (int64, error) {
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"} {
		t, err := time.Parse(layout, string(text))
		if err == nil && t.Year() >= 1970 && t.Year() < 2250 {
			return t.UnixNano(), nil
		}
	}
	return 0, fmt.Errorf("must be a time like 2023-11-16 18:15:46.6805900, from 1970 to 2249")
}
