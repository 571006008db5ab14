// Package rl has what all learning agents share. It is independent of clusters: an [Env]
// returns observations, takes an [Action] and returns a reward.
//
// An [Agent] explores, learns from each [Transition], and decides by what it has learned.
// [Training] is the training loop of every method: it runs a [Trainee], one agent or several,
// through episodes, evaluates in between, keeps the best weights, and can be saved and resumed
// at the end of any episode: the resumed run ends where the uninterrupted one would have, byte
// for byte. [Evaluate] does not learn.
//
//	agent, err := rl.NewDQN(rl.DefaultDQN(), env.Spaces(), seed)
//	training := rl.NewTraining(env, agent, seed, rl.TrainingConfig{Steps: 50_000, EvaluateEvery: 2_000, Episodes: 20})
//	err = training.Run(ctx, rl.Hooks{})
//	training.AdoptBest()
//
// All random numbers come from seeds. An agent draws from one [RNG], whose state is
// saved with it; each episode of an environment gets its own generator,
// made from the seed and the episode's number, so that an environment has no
// state that outlives an episode.
//
// Reading order: env.go and agent.go (the contracts), train.go, episode.go and
// evaluate.go (the training loop), replay.go with nstep.go and priority.go (memory),
// schedule.go, settings.go, archive.go (checkpoints). The algorithms are dqn.go, td3.go
// (DDPG too), tabular.go (Q-learning and SARSA) and clone.go; the comment of each type
// cites its paper and lists the deviations. Package lab/study has small environments
// with known answers, and compares settings on them.
package rl
