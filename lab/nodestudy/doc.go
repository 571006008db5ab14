// Package nodestudy is a study of real pods under a real kubelet, beside the event engine.
//
// Runs (plan.go) says what is deployed, under which load, and what changes meanwhile. Predict
// (predict.go, watch.go) plays a run in the event engine; test/cluster/node measures it. Both write
// the same figures (table.go), which `loadline-lab validate node` compares.
package nodestudy
