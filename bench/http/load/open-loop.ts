// `mx bench` as a program of its own, so that it can be held on another processor than what it measures.
import bench from '../../../cli/commands/bench.ts'

await bench.run(process.argv.slice(2))
