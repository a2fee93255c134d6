// `mx bench` as a program of its own, so that it can be held on another processor than what it measures.
import { bench } from '../../../cli/load/bench.ts'

process.exitCode = await bench(process.argv.slice(2))
