// An update loses no call, and streaming clients reconnect on request (reference 15.24).
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { openDeployer } from '../fixtures/deployer.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { startServerProcess } from '../fixtures/server-process.ts'

t.setTimeout(180_000)

const UPDATES = 8
const CALLERS = 4
const STREAMS = 4
/** Pause between two calls of a caller, which leaves CPU time to the updates. */
const PAUSE_MS = 5
/** IANA WebSocket Close Code Number Registry: service restart. */
const RESTART = 1012

/** Serves calls and endless streams, with a shorter drain time than `run()`, so that each update cuts the streams. */
const makeProgram = (answer: string) => ({
  'main.mjs': `
import { endpoint, Service, Type } from 'mx-gateway'

const Answer = Type.Object({ answer: Type.String() })
const service = new Service({ name: 'ticker' })
  .handle('Ticker', {
    call: endpoint({ response: Answer, handle: () => ({ answer: '${answer}' }) }),
    ticks: endpoint({
      response: Answer,
      stream: 'server',
      async *handle() {
        for (;;) {
          yield { answer: '${answer}' }
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      },
    }),
  })
process.once('SIGTERM', () => service.stop({ timeoutMs: 500 }).then(() => process.exit()))
await service.start()
`,
})

t.test('8 updates under load: no call fails, and WebSockets end only with 1012', async (t) => {
  const server = await startServerProcess(t)
  const { create, update, settled } = openDeployer(
    t,
    openClient(t, { proxy: server.proxy, token: server.token }),
  )
  await create('ticker', makeProgram('0'))
  t.match(await settled('ticker'), { status: 4 })

  let hasEnded = false
  const failed: unknown[] = []
  const responses = new Set<string>()
  const codes = new Map<number, number>()
  let calls = 0
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!hasEnded) {
      const reply = await fetch(`${server.gateway}/ticker/call`)
      const body = (await reply.json()) as { answer: string }
      if (reply.status === 200) responses.add(body.answer)
      else failed.push(body)
      calls++
      await delay(PAUSE_MS)
    }
  })
  const streamed = new Set<string>()
  const streams = Array.from({ length: STREAMS }, async () => {
    while (!hasEnded) {
      const socket = new WebSocket(`${server.gateway.replace('http', 'ws')}/ticker/ticks`)
      socket.once('open', () => socket.send('{}'))
      socket.on('message', (data) => {
        const { answer } = JSON.parse(String(data)) as { answer?: string }
        if (answer !== undefined) streamed.add(answer)
        if (hasEnded) socket.close(1000)
      })
      const code = await new Promise<number>((resolve, reject) => {
        socket.once('close', resolve)
        socket.once('error', reject)
      })
      if (!hasEnded) codes.set(code, (codes.get(code) ?? 0) + 1)
    }
  })
  for (let i = 1; i <= UPDATES; i++) {
    await update('ticker', makeProgram(String(i)))
    t.match(await settled('ticker'), { status: 4 })
    await waitUntil(() => responses.has(String(i)))
  }
  // Streams of replaced instances end with their drain time, and reconnect to the new one.
  await waitUntil(() => streamed.has(String(UPDATES)))
  hasEnded = true
  await Promise.all([...callers, ...streams])
  t.strictSame(failed, [])
  t.strictSame([...codes.keys()], [RESTART])
  t.comment(`${calls} calls, ${codes.get(RESTART)} WebSockets`)
})
