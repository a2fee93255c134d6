import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { whenState } from '../../../../contracts/runtime.ts'
import {
  FAILS,
  makeWorkload,
  openProcessRuntime,
  SERVE_CODE,
  startRunning,
} from '../../../../fixtures/process-runtime.ts'
import { makeTempFolder } from '../../../../fixtures/temp-folder.ts'

t.test('increases the restart pauses and gives up after five failures', async (t) => {
  const { runtime } = openProcessRuntime(t, { limits: { pauseMinMs: 50, pauseMaxMs: 150 } })
  const workload = makeWorkload(t, FAILS)
  const timesMs = new Map<number, number>()
  runtime.watch(({ retries }) => {
    if (!timesMs.has(retries)) timesMs.set(retries, performance.now())
  })
  await runtime.apply(workload)
  t.match(await whenState(runtime, ({ status }) => status === 'error'), {
    retries: 5,
    ready: 0,
    error: /^exited with code 1; last line: Error: boom$/,
  })
  const betweenMs = [1, 2, 3, 4].map((retries) => timesMs.get(retries + 1)! - timesMs.get(retries)!)
  for (const [index, leastMs] of [50, 100, 150, 150].entries()) t.ok(betweenMs[index]! >= leastMs)
})

t.test(
  'the failure count continues after a short ready time and restarts after a long one',
  async (t) => {
    const source = `${SERVE_CODE}; setTimeout(() => process.exit(1), 60)`
    for (const steadyMs of [60_000, 1]) {
      const { runtime } = openProcessRuntime(t, { limits: { steadyMs } })
      let maximum = 0
      let starts = 0
      let wasReady = false
      const done = new Promise<void>((resolve) => {
        runtime.watch(({ retries, status }) => {
          maximum = Math.max(maximum, retries)
          if (status === 'running' && !wasReady) starts++
          wasReady = status === 'running'
          if (status === 'error' || starts === 6) resolve()
        })
      })
      await runtime.apply(makeWorkload(t, source))
      await done
      if (steadyMs === 1) t.ok(maximum < 5, 'a long ready time restarts the count')
      else t.equal(maximum, 5, 'a short ready time continues the count')
      await runtime.close()
    }
  },
)

t.test('reports restarts and the last failure of a running instance', async (t) => {
  const { runtime } = openProcessRuntime(t)
  const flag = join(makeTempFolder(t, 'flag'), 'flag')
  const once = `if (!require('node:fs').existsSync(${JSON.stringify(flag)})) {
    require('node:fs').writeFileSync(${JSON.stringify(flag)}, '')
    console.log('no table'); process.exit(7)
  }`
  await runtime.apply(makeWorkload(t, `${once}; ${SERVE_CODE}`))
  const state = await whenState(runtime, ({ status }) => status === 'running')
  t.match(state, { restarts: 1, lastFailure: 'exited with code 7; last line: no table' })
  t.notOk('error' in state)
})

t.test('keeps restarting a revision that was ready before', async (t) => {
  const flag = join(makeTempFolder(t, 'flag'), 'database')
  const needs = `if (!require('node:fs').existsSync(${JSON.stringify(flag)})) process.exit(1)`
  const end = join(makeTempFolder(t, 'end'), 'now')
  const ends = `setInterval(() => require('node:fs').existsSync('${end}') && process.exit(1), 5)`
  const source = `${needs}; ${SERVE_CODE}; ${ends}`
  const isFailed = ({ status, retries }: { status: string; retries: number }) =>
    status === 'error' && retries >= 7
  for (const wasReady of [true, false]) {
    const { runtime } = openProcessRuntime(t, { limits: { pauseMaxMs: 10 } })
    // Ready in this server process, or in the previous one.
    if (!wasReady) writeFileSync(flag, '')
    await runtime.apply({ ...makeWorkload(t, source), ...(wasReady && { wasReady }) })
    if (!wasReady) {
      await whenState(runtime, ({ status }) => status === 'running')
      rmSync(flag)
      writeFileSync(end, '')
    }
    await whenState(runtime, isFailed)
    rmSync(end, { force: true })
    writeFileSync(flag, '')
    t.match(await whenState(runtime, ({ status }) => status === 'running'), { ready: 1 })
    await runtime.close()
    rmSync(flag)
  }
})

t.test('restarts abandoned instances when the revision is applied again', async (t) => {
  const { runtime } = openProcessRuntime(t)
  const workload = makeWorkload(t, FAILS)
  await runtime.apply(workload)
  await whenState(runtime, ({ status }) => status === 'error')
  await runtime.apply(workload)
  await whenState(runtime, ({ status, retries }) => status === 'starting' && retries > 0)
  t.match(await whenState(runtime, ({ status }) => status === 'error'), { retries: 5 })
})

t.test(
  'keeps the registration of a failed instance until its replacement is ready or it is stopped',
  async (t) => {
    const { runtime, registrar } = openProcessRuntime(t)
    const end = join(makeTempFolder(t, 'end'), 'now')
    const hasEnded = `require('node:fs').existsSync('${end}')`
    const workload = makeWorkload(
      t,
      `${SERVE_CODE}; setInterval(() => ${hasEnded} && process.exit(1), 5)`,
    )
    const countFailed = () => registrar.failed.get(workload.name)?.length
    for (const isLast of [false, true]) {
      await startRunning(runtime, workload)
      t.equal(countFailed() ?? 0, 0)
      writeFileSync(end, '')
      await whenState(runtime, ({ status }) => status === 'error')
      t.equal(countFailed(), 1)
      t.same(registrar.addresses.get(workload.name), [])
      if (!isLast) rmSync(end)
    }
    await runtime.remove(workload)
    t.equal(countFailed(), 0)
  },
)
