package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/workload"
)

// functionsFile has 1,350 functions of the Azure Functions 2019 trace, a day of counts per minute
// (Shahrad et al., "Serverless in the Wild", USENIX ATC 2020; CC BY 4.0).
const functionsFile = "azure_functions_2019_1350f/invocations_per_function_1day.csv.gz"

// function is one of the trace, with its average, median and 99th percentile of the duration, and its
// memory, of the same day.
type function struct {
	class, hash              string
	average, median, slowest int // ms
	memory                   int // MB
}

// functionClasses, in the order of the scenes. The sample of the trace does not have its triggers, so
// functions are classed by when they are invoked: timer = at equal intervals (their coefficient of
// variation is below 0.1), rare = at most 24 times a day, sporadic = in less than half of the minutes,
// steady = in 95 % of the minutes with counts that vary less than their mean, bursty = the others.
var functionClasses = []string{"timer", "rare", "sporadic", "bursty", "steady"}

// drawnFunctions are ten of each class, drawn with one seed before the first run among those that are
// invoked in both parts of the day that are used, not more than 600 times in a minute, and whose 99th
// percentile is within a minute.
var drawnFunctions = []function{
	{"timer", "555b9489fb76b22ffca4aeb2302296185777491cd1065edca4bdbff8fd1c8371", 327, 161, 766, 113},
	{"timer", "594ebab3c328b5711b9a58a2855c45b7b02e43033c34e43cdc480ee938ceace3", 48, 48, 48, 211},
	{"timer", "7ae0d4f650606799d1dd077ebfd3c49adcb301df4b204946afb893428b7c8c6f", 885, 543, 1866, 134},
	{"timer", "964668db3d850935d7da24d37601dec0f26daffe15f2429c48197e66bb1ca648", 55, 38, 187, 119},
	{"timer", "c21dffbc6944110192c2c6bb3a46763584f72a15b3dc401099c028dde8ef8ab7", 9592, 2751, 16433, 154},
	{"timer", "dc46457cc8f99406c3dc4b86fd441b4db293333371807abf44572e645cc9f8e2", 1236, 972, 2938, 329},
	{"timer", "e91d3cbe7810b75f77922ced12491088890f8f29277fd1745b2cbf521834b1db", 4149, 4149, 4149, 114},
	{"timer", "eb039aec64db5522bbaf1935e47dd0a9a94306ac91b3c8eecd77673d2240e731", 447, 263, 4139, 114},
	{"timer", "ed681d58d08b692cb5f568fcd2154ad0f3af69a3653fdfeb5c7ea67522bfc70f", 6797, 5853, 29787, 109},
	{"timer", "fd99afdff3deb8a16469218a74be63a90713324c4e94d312f780a6df22646699", 1042, 1042, 1042, 127},
	{"rare", "54f4c3c668e0f5b392668db92fb49dc560e8f64fc90a78d4c8945c223e0ea9c0", 43, 9, 604, 114},
	{"rare", "7dee523ec7eeb9e98b650f71dda338a5b8bba5ac965ae9d9daf3f6ee0b2f9d7a", 1137, 816, 2564, 119},
	{"rare", "ad9c099d11e68d20a3964d4016c7d07cfc5a30900b77ed68574be59ab27a9325", 795, 146, 2175, 197},
	{"rare", "b11689587fa1a8e8a6c8b45461ea983a85c2fb9a5ec1614607813f7d95e43695", 2821, 2821, 2821, 176},
	{"rare", "b2749b29a55c661918f512a2c0e70525a7158286a45c308a5f73d10c6474ef08", 249, 157, 995, 335},
	{"rare", "b9a3aeb1b46cc4e851ad9eabdedc968bb7aca8fc1893dc5e905b656d909f2b49", 1815, 1302, 7753, 102},
	{"rare", "c6538b33cd1cc48ad316a4b89e3eb1239a9c63529d42cd88bd75888a8a708705", 49, 39, 213, 196},
	{"rare", "c6f1105fdf5aca156f8046dd197dbb1d9543dd6fd263e24739a2b57a791e5ab3", 190, 165, 621, 190},
	{"rare", "db55e1b1f0979b5e7d717e1c30564fd2e0107bda2e73ec31195ec4733ea096da", 885, 543, 1866, 310},
	{"rare", "ffacaa9f70578b2c247ab462b48569f6ccf1de9563e45108d4250891fd393122", 1263, 1263, 1263, 75},
	{"sporadic", "0bd35a8f4ebe8bd8757bdd0026cc4cebc21bdf2e89d07492b07923763c344802", 1320, 707, 5448, 121},
	{"sporadic", "1c73148b3c349d8ca105c0bb70695c2f5d76802c905df925af8568dc5586046e", 1019, 77, 2935, 207},
	{"sporadic", "620842066d7158ef216f983ba6e8f9a80fc179320540a3671b1344e0236fb236", 1008, 876, 1140, 186},
	{"sporadic", "8292611ca5e2cc301cea2368e5f650e8f25a5c267feb22ea0c7e42bba555f47f", 678, 296, 6517, 187},
	{"sporadic", "929f8bf23652952f805b89387e4c9867f57943a32d119903c0b5784316358527", 167, 3, 1940, 86},
	{"sporadic", "948425d3ad9c83fec008483b83359ea82434e6399ed5d19f6d2fcbe41ab3b8f5", 1920, 1720, 5397, 186},
	{"sporadic", "a08f071817461359743c7759da0e0cc19c4fee8413c05c1ba8092e9632dbebcd", 500, 339, 2043, 210},
	{"sporadic", "b096838bcea321c1b230946567897314700c7405264bc230c34418b9b71b44a9", 2192, 1683, 6258, 117},
	{"sporadic", "ef60945d3fbc6bd13b4e117fde9c148317ac722139fa5209ec6c4be25f3074af", 285, 171, 546, 312},
	{"sporadic", "f3ca76da6fad4d9c02d6951d03564af6991e5338dba40f0524bc3b9bf6bd8c02", 1, 1, 15, 119},
	{"bursty", "1bab031b7fcd357f94a297c882743c7e4f7136fee6fee00a4f874c201a3edaaf", 1789, 1640, 1938, 203},
	{"bursty", "2885ad02b8aa90767904b5396c051902f6eb9c784fb045ecced364e8242c9b42", 15277, 15277, 15277, 129},
	{"bursty", "6c6b4b1ecce800c1451e28814b4a6ee2a1f55eb855b1b3755e096ffd44223d15", 73, 43, 563, 120},
	{"bursty", "7e5002503ab4164229d84f0fb36c4bc46ee15c5b35df8b94fcfbb4e8ab16fcad", 38346, 38346, 38346, 125},
	{"bursty", "7fd4556d69ea485185b4bd40d9b43b83f52750a4aa13c6fb2bec0c916ad6c010", 7481, 7481, 7481, 135},
	{"bursty", "8fd2ece33efc3a0e71e9cea7113c4051147ca39af88036d50f271514b2f9459e", 15, 14, 31, 180},
	{"bursty", "a9e4109f4966cd99fbdf7bf530c13c2a11049af96a1a868af4f547d0378d5507", 6569, 4448, 49569, 130},
	{"bursty", "a9fa0f3d5ea82620b04503e83d1f8f3cbe7cc931b9687315de3f64a507862b1e", 381, 381, 381, 226},
	{"bursty", "d87890ecdd81ce3ab2331a56fef04b36b6bc55525c3aa3184791cb62f8726dac", 43, 9, 604, 103},
	{"bursty", "dbaf129c5ce1ae22e5eb4013614516374b98426e01aa242f03f3ee70902f5cc9", 38245, 38000, 53706, 190},
	{"steady", "0f288eb60952355a6946519510739606b0e8fa781231e227cc390d5e51e1d191", 4938, 4938, 4938, 193},
	{"steady", "1121a5133abecd47e273a8327ba4c391c7a258fb684d5bb0d9a0d83c7c8d55ae", 255, 151, 1041, 210},
	{"steady", "1727e5ace3250a02b0f4842b05cb231a93576e30036553f5cb3db3c5b98c4141", 1275, 943, 2622, 101},
	{"steady", "330a55434e147ae3975a7210c692d290ade2752c897db6f6acc94a5e8164c3c6", 703, 644, 1923, 363},
	{"steady", "3ae07553b36e4e49d8d6801872bd707fbdc539e8541d90e11110fe11c9d9a747", 116, 85, 557, 125},
	{"steady", "4e0745ffac71f37810dde3b094693739bf2dd3c1bcde44f85dd5a3a79cc4f67b", 15, 17, 18, 162},
	{"steady", "68c8aeb2e78b525d6b597ff3c8c4b5b5b1a185c68b975a3466ac8b7cc34e81fe", 30805, 17409, 44201, 177},
	{"steady", "9f91d6295b409d071cc87bd00e38108dbdc8a8e052e8b2d262282489f0034ef0", 29185, 29185, 29185, 94},
	{"steady", "b67d146e9e84a338814514ebab307f5a16b4234efa824fa37a52d9030792ca15", 7828, 4870, 25598, 205},
	{"steady", "f225874d29d5f2eef2984c7258c1856ba99f07f9f1f98c023739bc7e319378f3", 107, 107, 107, 130},
}

// Parts of the day: settings are calibrated on the first.
var (
	functionsMorning = Span{4 * time.Hour, 10 * time.Hour}
	functionsEvening = Span{12 * time.Hour, 18 * time.Hour}
)

const (
	// A third of a function's duration is taken to be CPU time: the trace does not say.
	functionCPUShare = 1.0 / 3
	// A pod alone is ready after 1.58 s on the mean with a coefficient of variation of 0.44, as in the model
	// functions; a second for the language on top is assumed.
	functionStart   = 2580 * time.Millisecond
	functionStartCV = 0.44
	// The objective is the function's own 99th percentile and this, which a cold start takes at least.
	functionSlack = 500 * time.Millisecond
)

// app of one function: one service that goes to zero and holds requests.
func (f function) app() *loadline.App {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	spread := loadline.Dist{CV: f.variation()}
	cpu, wait := spread, spread
	cpu.Mean, wait.Mean = ms(float64(f.average)*functionCPUShare), ms(float64(f.average)*(1-functionCPUShare))
	memory := int64(f.memory) << 20
	return &loadline.App{
		Name: "function",
		Services: []loadline.Service{{
			Name: "f", CPU: cpu, Wait: wait, Workers: 100, Backlog: 100, Hold: 10_000, Replicas: 1,
			Memory:  loadline.Memory{Base: memory, PerRequest: 128 << 10},
			Startup: loadline.Dist{Mean: functionStart, CV: functionStartCV},
			Size:    loadline.Size{CPURequest: 0.1, CPULimit: 1, MemoryRequest: memory, MemoryLimit: 2 * memory},
			Bounds:  loadline.Bounds{MaxReplicas: 20, MinCPU: 0.05, MaxCPU: 2, MinMemory: 16 << 20, MaxMemory: 4 << 30},
		}},
		Kinds: []loadline.Kind{{
			Name: "call", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: ms(float64(f.slowest)) + functionSlack},
			Timeout: 5 * time.Minute, Root: loadline.Call{Probability: 1, Times: 1, Work: 1},
		}},
	}
}

// variation is the coefficient of variation of the lognormal distribution that has the function's mean and
// 99th percentile, as far as there is one.
func (f function) variation() float64 {
	const z99 = 2.3263
	sigma := z99 - math.Sqrt(max(z99*z99-2*math.Log(max(float64(f.slowest)/float64(f.average), 1)), 0))
	return math.Sqrt(math.Exp(sigma*sigma) - 1)
}

func (f function) load() Workload {
	return Workload{Name: f.hash[:8], Spec: functionsFile, Trace: true, Test: functionsEvening, Validation: functionsMorning,
		Options: workload.Options{Select: f.hash}}
}

// functionScenes are one for each class: its ten functions on nodes that they share with others, six hours.
func functionScenes() ([]Scene, error) {
	nodes, err := pool.ParsePool("eks-4")
	if err != nil {
		return nil, err
	}
	// Ten functions fit on one node: alone on it, every policy would have the same bill.
	neighbours, err := pool.ParseNeighbours("use=0.5,request=0.5")
	if err != nil {
		return nil, err
	}
	var all []Scene
	for _, class := range functionClasses {
		s := Scene{Name: "functions " + class, Cluster: pool.Cluster{Pools: []pool.Pool{nodes}, Neighbours: neighbours}}
		var together []apps.Joined
		for _, f := range drawnFunctions {
			if f.class != class {
				continue
			}
			together = append(together, apps.Joined{Name: fmt.Sprintf("f%d", len(together)), App: f.app()})
			s.Workload.Of = append(s.Workload.Of, f.load())
		}
		model, err := apps.Join(together)
		if err != nil {
			return nil, fmt.Errorf("functions %s: %w", class, err)
		}
		model.Name = "functions-" + class
		s.App, s.Workload.Name = App{Name: model.Name, Model: model}, "azure-2019 "+class
		all = append(all, s)
	}
	return all, nil
}

// onFunctions are Knative's autoscaler, as it comes and calibrated, the published policy of keep-alive and
// pre-warming, what scales functions besides, and Loadline's planner. HPA and KEDA as they come keep one
// pod, or go to zero after five minutes.
func onFunctions() []Policy {
	var all []Policy
	for _, spec := range []string{
		"kpa:target=1", "kpa@calibrated", "hybrid-histogram:target=1", "hybrid-histogram@calibrated", "hpa", "keda", "planner", "static",
	} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}
