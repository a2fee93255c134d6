import { existsSync } from 'node:fs'
import t from 'tap'
import { measureRival, startRival } from '../../../bench/http/measure.ts'
import { runRounds } from '../../../bench/http/rounds.ts'
import { pickRivals } from '../../../bench/http/scenario-run.ts'
import { findScenario, SCENARIOS } from '../../../bench/http/scenarios.ts'
import { startBackend } from '../../../bench/http/servers/backend.ts'
import { isInstalled, readUsage, startProgram } from '../../../bench/http/servers/processes.ts'
import { RIVALS } from '../../../bench/rivals/all.ts'
import type { Rival } from '../../../bench/rivals/rival.ts'

const scenario = SCENARIOS[0]!
const find = (name: string): Rival => RIVALS.find((rival) => rival.name === name)!
const skipReason = process.platform === 'linux' ? false : 'figures come from /proc'

t.test('the usage of a program includes its child processes', { skip: skipReason }, async (t) => {
  const start = process.cpuUsage()
  const before = readUsage(process.pid)
  while (process.cpuUsage(start).user < 60_000);
  const after = readUsage(process.pid)
  t.ok(after.cpuMs - before.cpuMs >= 40, `${after.cpuMs - before.cpuMs} ms`)
  t.ok(after.rssBytes > 10 * 1024 ** 2)
  t.ok(after.peakBytes >= before.rssBytes)
  t.ok(after.files > 3)

  const program = startProgram(['sh', '-c', 'sleep 60 & sleep 60 & wait'], [])
  t.teardown(() => program.stop())
  const single = readUsage(program.pid).files
  t.ok(single >= 3)
  t.equal(program.exited(), false)
  await program.stop()
  t.equal(program.exited(), true)
  t.equal(readUsage(program.pid).files, 0)
})

t.test('a missing command fails with an error that contains its name', async (t) => {
  const missingProgram: Rival = {
    ...find('undici'),
    name: 'ghost',
    prepare: () => ['no-such-program'],
  }
  await t.rejects(
    startRival(
      missingProgram,
      scenario,
      { port: 9, serverPort: 0, grpcPort: 0, servicePort: 0 },
      { cores: [] },
    ),
    /ghost is not ready .* it exited\. .*no-such-program/,
  )
})

const KINDS = ['proxy', 'tls', 'access-log', 'http2', 'grpc']

for (const rival of RIVALS) {
  const skip =
    skipReason || (rival.version() === undefined ? `${rival.name} is not installed` : false)
  t.test(
    `${rival.name} starts, forwards to the backend and stops without leaving files`,
    { skip },
    async (t) => {
      const backend = await startBackend([findScenario('grpc')])
      t.teardown(() => backend.stop())
      // One scenario per kind of configuration file.
      const kinds = SCENARIOS.filter(({ name }) => KINDS.includes(name))
      for (const each of kinds.filter((kind) => pickRivals([rival], kind).length > 0)) {
        const running = await startRival(rival, each, backend)
        await running.stop()
        t.notOk(existsSync(running.site.folder), each.name)
      }
    },
  )
}

t.test(
  'measures running rivals even if another one fails to start',
  {
    skip: skipReason || (isInstalled('wrk') ? false : 'wrk is not installed'),
  },
  async (t) => {
    const protobuf = findScenario('rpc-protobuf')
    const backend = await startBackend([protobuf])
    t.teardown(() => backend.stop())
    for (const [rival, row] of [
      [find('undici'), findScenario('post')],
      [find('mx'), protobuf],
    ] as const) {
      const load = { connections: 4, seconds: 1 }
      const measured = await measureRival(rival, row, backend, load)
      t.ok(measured.cpuMicros > 1 && measured.cpuMicros < 5000, `${measured.cpuMicros} µs`)
      t.ok(measured.requestsPerSecond > 100)
      t.ok(measured.peakMiB > 20, `${measured.peakMiB} MiB`)
      t.equal(measured.errors, 0, row.name)
    }

    const broken: Rival = { ...find('undici'), name: 'broken', prepare: () => ['false'] }
    const options = { rounds: 1, seconds: 1, connections: 4, ports: backend }
    const rows = await runRounds([find('undici'), broken], scenario, options)
    t.equal(rows[0]?.ratio, 1)
    t.match(rows[1]?.problem, /it exited/)
  },
)
