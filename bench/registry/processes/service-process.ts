// A service as a separate process, registered at MX_REGISTRY. Argument: name. On SIGUSR2, it reports the number of
// calls in progress and exits.
import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Service } from '../../../sdk/service/service.ts'

/** Response time, long enough that some calls are always in flight. */
const RESPONSE_MS = 5
let inFlight = 0

const service = new Service({ name: process.argv[2]! }).handle('Bench', {
  where: endpoint({
    async handle() {
      inFlight++
      try {
        await wait(RESPONSE_MS)
        return { pid: process.pid }
      } finally {
        inFlight--
      }
    },
  }),
})
process.on('SIGUSR2', () => {
  writeSync(1, `${JSON.stringify({ inFlight, killedMs: Date.now() })}\n`)
  process.kill(process.pid, 'SIGKILL')
})
writeSync(1, `${JSON.stringify({ address: await service.run() })}\n`)
