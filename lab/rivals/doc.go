// Package rivals implements the learned autoscalers that DRPC is compared with, as far
// as they are documented: CoScal (four levels of utilisation, Q-learning, a GRU;
// horizontal, vertical, brownout), FIRM (critical path, a support vector machine
// that finds the culprit, DDPG per component; one resource a step) and A-SARSA
// (ARIMA and SARSA over utilisation and response time; horizontal).
//
// This package has the policies; package trainer trains them. docs/rivals.md lists what
// the papers leave open and how it is implemented here.
//
// Reading order: rival.go (what all have in common), table.go (values by levels),
// moves.go (what can be done to a service), coscal.go with gru.go, asarsa.go with
// arima.go, firm.go with firm_path.go, firm_locate.go and firm_svm.go, model.go and
// file.go (the model file).
package rivals
