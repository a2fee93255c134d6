// Runs `mx bench` as a separate program, so that it can be pinned to another processor than the measured program.
import bench from '../../../cli/commands/tools/bench.ts'

await bench.run(process.argv.slice(2))
