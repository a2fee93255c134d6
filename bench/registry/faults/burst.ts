import { execFile } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { OTHER_CORES, readUsage, toPinned } from '../../http/servers/processes.ts'
import { toNodeCommand } from '../../rivals/rival.ts'
import { type Figure, toFailures } from '../figures.ts'
import { startLoad } from '../load.ts'
import type { FaultOptions } from '../options.ts'
import { onStage, startRegistry } from '../stage.ts'

const MIB = 1024 ** 2
const runFile = promisify(execFile)

/** Under load, registers thousands of nodes for services with known routes. */
export async function measureBurst(
  kind: 'consul' | 'catalog' | 'mx',
  { rate, seconds, burstSeconds, perSecond }: FaultOptions,
): Promise<readonly Figure[]> {
  const { text, stop } = await startRegistry(kind === 'mx' ? 'mx' : 'consul')
  try {
    return await onStage({ registry: text, services: 2 }, async ({ gateway, url }) => {
      const { probe } = gateway
      const measure = async (work: () => Promise<unknown>) => {
        const { pid } = gateway.program
        await probe.reset()
        const [startMs, { cpuMs }] = [performance.now(), readUsage(pid)]
        const load = startLoad(url, rate)
        await work()
        const result = await load.stop()
        const busy = (readUsage(pid).cpuMs - cpuMs) / (performance.now() - startMs)
        return { result, sample: await probe.sample(), busy }
      }
      await measure(() => wait(1000))
      const quiet = await measure(() => wait(seconds * 1000))
      let burst = { registered: 0, seconds: 0, failed: 0 }
      const busy = await measure(async () => {
        const words = [text, String(perSecond), String(burstSeconds), kind]
        const command = toNodeCommand('registry/processes/burst-process', ...words)
        const [program, ...args] = toPinned(command, OTHER_CORES)
        const { stdout } = await runFile(program!, args)
        burst = JSON.parse(stdout) as typeof burst
      })
      const toLoopFigure = (name: string, { loop }: typeof busy.sample): Figure => ({
        label: `event loop delay of the gateway, p99, ${name}`,
        value: loop.p99Ms,
        unit: 'ms',
        detail: `longest ${loop.maxMs.toFixed(0)}`,
      })
      return [
        {
          label: 'registrations',
          value: burst.registered / burst.seconds,
          unit: 'per second',
          detail: `${burst.registered} in ${burst.seconds.toFixed(1)} s, ${burst.failed} failed`,
        },
        { label: 'CPU usage of the gateway before the burst', value: quiet.busy * 100, unit: '%' },
        { label: 'CPU usage of the gateway during the burst', value: busy.busy * 100, unit: '%' },
        toLoopFigure('before the burst', quiet.sample),
        toLoopFigure('during the burst', busy.sample),
        { label: 'latency, p99, before the burst', value: quiet.result.latency.p99, unit: 'ms' },
        { label: 'latency, p99, during the burst', value: busy.result.latency.p99, unit: 'ms' },
        toFailures('failed requests', busy.result, 0),
        { label: 'resident memory before the burst', value: quiet.sample.rss / MIB, unit: 'MiB' },
        {
          label: 'resident memory after the burst',
          value: busy.sample.rss / MIB,
          unit: 'MiB',
          detail: `heap ${(busy.sample.heapUsed / MIB).toFixed(0)}`,
        },
      ]
    })
  } finally {
    await stop()
  }
}
