import { runSteps, type Step } from '../../core/chain.ts'
import { BenchExchange } from './bench-exchange.ts'
import type { Micro } from './micro.ts'

const x = new BenchExchange()
// Different functions, as in plugins, because a single function would be inlined.
const steps: readonly Step[] = [
  (each) => {
    each.bytesIn += 1
  },
  (each) => {
    each.bytesIn += 2
  },
  (each) => {
    each.bytesIn += 3
  },
  (each) => {
    each.bytesIn += 4
  },
  (each) => {
    each.bytesOut += 1
  },
  (each) => {
    each.bytesOut += 2
  },
  (each) => {
    each.bytesOut += 3
  },
  (each) => {
    each.bytesOut += 4
  },
]
const parked: readonly Step[] = [...steps.slice(0, 4), () => Promise.resolve(), ...steps.slice(4)]

const micro: Micro = {
  benches: {
    '8 synchronous steps': () => runSteps(steps, x),
    '8 steps, one returns a promise': () => runSteps(parked, x),
  },
  // Each step may cost at most 50 ns.
  budgetNs: { '8 synchronous steps': 400 },
}

export default micro
