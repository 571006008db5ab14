// Package capacity compares forecasts by what the planner uses them for: the capacity to hold for the
// largest load within a lead time. [Run] walks forward over a series (series.go) with every model
// (models.go, fitted.go) and counts what the capacity costs and which share of the load came in excess
// of it (score.go).
package capacity
