// Package train has what methods are trained with: scenarios, episodes in the fluid
// engine, and the training of networks in them.
//
// An [Arena] simulates a scenario, of one service or of a whole application, in
// episodes: each begins at a random instant of the load with random replicas, and
// what is observed is as uncertain as what a metrics system reports. Each step of an
// episode is a pass of loop.Loop, with an agent's action as the policy's proposal: the
// forecasts, guards, delays and plans in flight are those of production. Trainers of
// methods that decide for all services embed it; [ServiceEnv] makes of it the
// environment of an agent that scales one service at a time. The loop that explores,
// learns, evaluates and keeps the best is rl.Training.
//
// Reading order: scenario.go and service.go (what is trained on), arena.go (an
// episode as passes of the loop), initial.go (how an episode begins), noise.go (the
// uncertainty of metrics), forecast.go (forecasts by instant of the load), serviceenv.go, env1.go
// and env2.go (environments for agents), demonstrations.go (what another autoscaler
// did, as experience), agents.go and network.go (one network of a formulation, from
// its paper's agent to the trained weights), result.go (learning curves and results).
package train
