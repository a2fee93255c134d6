// Loaded into the measured program. On SIGUSR2, it collects garbage and writes the remaining heap size to a file.
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

process.on('SIGUSR2', () => {
  collect()
  collect()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  writeFileSync(
    process.env['BENCH_HEAP_FILE']!,
    JSON.stringify({ heapUsed, external, arrayBuffers }),
  )
})
