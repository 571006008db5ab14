// Package forecast predicts load some minutes ahead, with its uncertainty.
//
// A [Model] learns from a [Frame] (several series on one clock; the first is the target),
// observes new samples, and predicts quantiles per horizon. A [Forecaster] runs any model on
// the clock, calibrates its quantiles to their nominal coverage, and reports the model's recent
// error, compared with persistence.
//
//	task := forecast.Task{Horizons: []int{5, 10}, Levels: forecast.DefaultLevels, Season: 1440}
//	model, err := forecast.New("gru", task, 1)
//	f, err := forecast.NewForecaster(model, task)
//	err = f.Fit(ctx, history)
//	err = f.Observe(at, 0.41)           // the next sample; NaN where there is none
//	answer, err := f.Forecast(now)      // answer.Ahead[1].Median, .Quantiles, .Recent
//
// A missing sample is NaN and never zero. How each model bridges it is documented at the top of
// its file; none forecasts after a gap longer than its longest horizon: that is [ErrNoData].
//
// Reading order: frame.go (and table.go, which reads one), forecast.go (the contract),
// recent.go (recent errors and calibration), then the models: persistence.go, seasonal.go,
// holtwinters.go, arima.go, linear.go, and gru.go with its inputs (gru_features.go), training data
// (gru_parts.go), training (gru_train.go) and file (gru_file.go), also within the file of
// another model (gru_embed.go); evaluate.go walks forward over a test part, scores.go computes
// errors. The planner's forecasts are of another kind, distributions of the growth of the load
// (growth.go) and quantiles by features (boost.go, quantline.go).
package forecast
