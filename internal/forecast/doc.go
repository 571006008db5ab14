// Package forecast says what a load will be some minutes from now, and how far
// it may be off.
//
// A [Model] learns from a [Frame] (several series on one clock; the first is
// the one forecast), is shown new samples as they come, and answers with
// quantiles per horizon. A [Forecaster] puts any model on the clock, widens its
// quantiles until they cover what they claim, and says beside every answer how
// wrong the model has lately been, compared with persistence.
//
//	task := forecast.Task{Horizons: []int{5, 10}, Levels: forecast.DefaultLevels, Season: 1440}
//	model, err := forecast.New("gru", task, 1)
//	f, err := forecast.NewForecaster(model, task)
//	err = f.Fit(ctx, history)
//	err = f.Observe(at, 0.41)           // the next sample; NaN where there is none
//	answer, err := f.Forecast(now)      // answer.Ahead[1].Median, .Quantiles, .Recent
//
// A missing sample is NaN and never zero. How each model bridges it stands at
// the top of its file; none answers after a silence longer than its longest
// horizon: that is [ErrNoData].
//
// Reading order: frame.go (and table.go, which reads one), forecast.go (the
// contract), recent.go (how far to trust, and calibration), then the models:
// persistence.go, seasonal.go, holtwinters.go, arima.go, and gru.go with what it
// sees (gru_features.go), what it learns from (gru_parts.go), how it learns
// (gru_train.go) and how it is kept (gru_file.go), also within the file of another
// model (gru_embed.go); evaluate.go walks forward over a test part, scores.go counts.
package forecast
