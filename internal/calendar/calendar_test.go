package calendar

import (
	"strings"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNext(t *testing.T) {
	for _, row := range []struct{ name, cron, zone, after, want string }{
		{"the next working day", "0 8 * * 1-5", "UTC", "2026-11-20T08:00:00Z", "2026-11-23T08:00:00Z"},
		{"names", "30 9 * JAN mon", "UTC", "2026-11-20T00:00:00Z", "2027-01-04T09:30:00Z"},
		{"either day, as in cron", "0 0 13 * 5", "UTC", "2026-11-10T00:00:00Z", "2026-11-13T00:00:00Z"},
		{"Sunday is 7 too", "0 0 * * 7", "UTC", "2026-11-18T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"a step", "*/20 * * * *", "UTC", "2026-11-18T10:41:00Z", "2026-11-18T11:00:00Z"},
		{"a step from a number", "5/30 8-10/2 * * *", "UTC", "2026-11-18T08:10:00Z", "2026-11-18T08:35:00Z"},
		{"a leap day", "0 0 29 2 *", "UTC", "2026-11-18T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"winter in Berlin", "0 8 * * *", "Europe/Berlin", "2026-11-18T00:00:00Z", "2026-11-18T07:00:00Z"},
		{"summer in Berlin", "0 8 * * *", "Europe/Berlin", "2026-07-18T00:00:00Z", "2026-07-18T06:00:00Z"},
		{"the date is the zone's", "0 8 * * *", "Pacific/Auckland", "2026-11-18T12:00:00Z", "2026-11-18T19:00:00Z"},
	} {
		c, err := Parse(row.cron)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		zone, err := time.LoadLocation(row.zone)
		if err != nil {
			t.Fatal(err)
		}
		if got, occurs := c.Next(at(t, row.after), zone); !occurs || !got.Equal(at(t, row.want)) {
			t.Errorf("%s: %q after %s is %v, want %s", row.name, row.cron, row.after, got.UTC(), row.want)
		}
	}
}

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]string{
		"": "has 0 fields", "0 8 * *": "has 4 fields", "60 8 * * *": `minute: "60" must be a number from 0 to 59`,
		"0 8 0 * *": "day of the month", "0 8 * * 5-1": "ascending", "*/0 * * * *": "the step of", "0 0 30 2 *": "never occurs",
		"a b c d e": `hour: "b"`, "1,,2 * * * *": `"" must be`, "@daily * * * *": "minute", "+1 * * * *": `"+1" must be`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	_, err := ParseWindow("x", "0 99 * * *", "Mars/Olympus")
	for _, want := range []string{"start: ", "end: ", "timeZone: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q too", err, want)
		}
	}
	if _, err := ParseWindow("0 8 * * *", "0 8 * * *", ""); err == nil {
		t.Error("a window without length is accepted")
	}
	if _, err := ParseWindow("0 8 * * *", "0 9 * * *", "Local"); err == nil {
		t.Error("the machine's zone is accepted")
	}
}

func TestOpen(t *testing.T) {
	w, err := ParseWindow("0 8 * * 1-5", "0 20 * * 1-5", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"2026-11-18T06:59:59Z": false, "2026-11-18T07:00:00Z": true, "2026-11-18T18:59:59Z": true, "2026-11-18T19:00:00Z": false,
		"2026-11-21T12:00:00Z": false, // Saturday
		"2026-07-15T06:00:00Z": true,  // an hour earlier in summer
	} {
		if open, until := w.Open(at(t, text)); open != want || !until.After(at(t, text)) {
			t.Errorf("at %s it is open: %v until %v", text, open, until)
		}
	}
	night, err := ParseWindow("0 22 * * *", "30 2 * * *", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// The clock goes from 2:00 to 3:00 on 2026-03-29, and from 3:00 to 2:00 on 2026-10-25: the window
	// ends within an hour of its time on both days.
	for text, want := range map[string]bool{
		"2026-03-28T21:30:00Z": true, "2026-03-29T00:00:00Z": true, "2026-03-29T02:30:00Z": false,
		"2026-10-24T23:59:00Z": true, "2026-10-25T02:00:00Z": false,
	} {
		if open, _ := night.Open(at(t, text)); open != want {
			t.Errorf("at %s it is open: %v", text, open)
		}
	}
}

// FuzzParse: no text makes it fail otherwise than with an error, and the next occurrence is that of a
// search minute by minute.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0 8 * * 1-5", "*/15 8-18/2 1,15 jan-mar *", "0 0 29 2 *", "59 23 31 12 7", "* * * * *", "1-2-3 * * * *"} {
		f.Add(seed, int64(1795000000))
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		after := time.Unix(seconds%4e9, 0).UTC()
		got, occurs := c.Next(after, time.UTC)
		if !occurs {
			t.Fatalf("%q does not occur after %v", text, after)
		}
		minute := after.Truncate(time.Minute).Add(time.Minute)
		for range 3 * 24 * 60 {
			hit := c.minutes&(1<<minute.Minute()) != 0 && c.hours&(1<<minute.Hour()) != 0 && c.onDay(minute)
			if hit != minute.Equal(got) {
				t.Fatalf("%q after %v is %v; minute by minute %v hits: %v", text, after, got, minute, hit)
			}
			if hit {
				return
			}
			minute = minute.Add(time.Minute)
		}
		if got.Before(minute) {
			t.Fatalf("%q after %v is %v, which no minute is", text, after, got)
		}
	})
}
