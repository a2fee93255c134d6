import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import {
  makeWorkload,
  openProcessRuntime,
  SERVE_CODE,
  startRunning,
} from '../../../../../fixtures/process-runtime.ts'
import { waitUntil } from '../../../../../fixtures/raw-backend.ts'

t.test('logs 10 000 lines per second in order within 100 ms', async (t) => {
  const { runtime, warnings } = openProcessRuntime(t)
  const source = `${SERVE_CODE}
    let line = 0
    const timer = setInterval(() => {
      for (let i = 0; i < 100; i++) console.log(line++ + ' ' + Date.now() + ' ' + 'x'.repeat(100))
      if (line === 20000) clearInterval(timer)
    }, 10)`
  const workload = makeWorkload(t, source)
  const stop = new AbortController()
  await runtime.apply(workload)
  const numbers: number[] = []
  const delaysMs: number[] = []
  for await (const { text } of runtime.logs(workload, { follow: true, signal: stop.signal })) {
    if (text.startsWith('up')) continue
    const [number, timeMs] = text.split(' ')
    numbers.push(Number(number))
    delaysMs.push(Date.now() - Number(timeMs))
    if (numbers.length === 20_000) stop.abort()
  }
  t.ok(numbers.every((number, index) => number === index))
  delaysMs.sort((a, b) => a - b)
  t.ok(delaysMs[delaysMs.length >> 1]! <= 100, `median of ${delaysMs[delaysMs.length >> 1]} ms`)
  t.comment(`p99 ${delaysMs[Math.floor(delaysMs.length * 0.99)]} ms`)
  t.notOk(warnings.some((warning) => warning.includes('throttled')))
})

t.test('throttles an instance that floods its log', async (t) => {
  const { runtime, warnings } = openProcessRuntime(t)
  const source = `${SERVE_CODE}
    require('node:child_process').spawn('yes', { stdio: ['ignore', 'inherit', 'inherit'] })`
  const workload = makeWorkload(t, source)
  await startRunning(runtime, workload)
  await waitUntil(() => warnings.some((warning) => warning.includes('output exceeds the log rate')))
  const before = process.cpuUsage()
  let longestMs = 0
  for (let i = 0; i < 50; i++) {
    const beginMs = performance.now()
    await delay(20)
    longestMs = Math.max(longestMs, performance.now() - beginMs - 20)
  }
  const { user, system } = process.cpuUsage(before)
  t.ok((user + system) / 1e6 < 0.6, 'less than half a core')
  t.comment(`${(user + system) / 1e6} s of CPU, longest tick ${longestMs} ms`)
  await runtime.remove(workload)
})
