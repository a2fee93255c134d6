import { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { BenchExchange } from './bench-exchange.ts'
import type { Micro } from './micro.ts'

const x = new BenchExchange()
x.reply(200, '{"message":"Hello John"}')
const busy = new RequestMetrics()
busy.measureEvery = 16
const idle = new RequestMetrics()

const BUSY = 'count, one duration in 16 measured'
const IDLE = 'count, each duration measured'

const micro: Micro = {
  benches: { [BUSY]: () => busy.count(x), [IDLE]: () => idle.count(x) },
  budgetNs: { [BUSY]: 50, [IDLE]: 300 },
}

export default micro
