package workload_test

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/workload"
)

func ExampleParse() {
	w, err := workload.Parse("constant:rps=100+flash:at=10m,factor=5,rise=1m,hold=5m,fall=4m+mix:query=70..30,buy=30..70",
		30*time.Minute, time.Minute, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	app := &loadline.App{Name: "shop", Kinds: []loadline.Kind{{Name: "buy", Share: 1}, {Name: "query", Share: 1}}}
	load, err := w.For(app)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, at := range []time.Duration{0, 12 * time.Minute, 29 * time.Minute} {
		buy, until := load.Rate(0, at)
		fmt.Printf("at %v: %.1f buys/s until %v\n", at, buy, until)
	}
	// Output:
	// at 0s: 30.7 buys/s until 1m0s
	// at 12m0s: 233.3 buys/s until 13m0s
	// at 29m0s: 69.3 buys/s until 30m0s
}

func ExampleParse_faults() {
	_, err := workload.Parse("diurnal:hihg=400,low=fast+nois", 0, 0, 1)
	fmt.Println(err)
	// Output:
	// workload: diurnal: "hihg" must be one of low, high, period, peak; did you mean high?
	// workload: diurnal low: "fast" must be a number from 0 to 1e12, in requests per second
	// workload: generator: "nois" must be a file, or one of constant, step, ramp, diurnal, weekly, bursty, flash, noise, mix, day, week, flashcrowd, bursts, steps; did you mean noise?
}
