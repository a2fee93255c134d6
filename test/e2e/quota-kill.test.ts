// Gateways as processes that share a quota through the store of a server, and end with and without notice.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEcho } from '../fixtures/echo-backend.ts'
import { startMx } from '../fixtures/mx.ts'
import { openServer } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const BATCH = 20

async function open(t: Test) {
  const port = await openEcho(t, 'shop')
  const { post, proxy } = await openServer(t)
  const account = { type: 'service', scopes: ['service'], secret: 'a secret' }
  await post('/auth/generate', { id: 'gateway', ...account })
  const { body } = await post('/auth/apiKeys/create', { name: 'shop' })
  const cwd = makeTempFolder(t, 'quota')
  const rule = `{ name: requests, limit: 100000, period: month, batch: ${BATCH} }`
  writeFileSync(
    join(cwd, 'mx.yaml'),
    `handler: proxy
services:
  shop: { nodes: ["http://127.0.0.1:${port}"], plugins: [ quota: { rules: [${rule}] } ] }
`,
  )
  const env = { HOME: cwd, MX_AUTH: `mx://${proxy}`, MX_AUTH_ID: 'gateway' }
  const start = async (...args: string[]) => {
    const mx = startMx(['api', '--address=127.0.0.1:0', '--access_log=off', ...args], {
      ...{ cwd, env: { ...env, MX_AUTH_SECRET: account.secret } },
    })
    t.teardown(async () => {
      mx.child.kill('SIGKILL')
      await mx.ended
    })
    const url = await mx.url()
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const { status } = await fetch(`${url}/shop/a`, { headers: { 'x-api-key': body.key } })
        if (status !== 200) throw new Error(`status ${status}`)
      }
    }
    const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
      mx.child.kill(signal)
      await mx.ended
    }
    return { send, end }
  }
  const used = async (): Promise<number> => {
    const { body } = await post('/auth/requestQuotas/list', { period: 'month' })
    return body.usage[0].used
  }
  return { start, used }
}

t.test('a killed gateway counts at most a batch too many, a stopped one is exact', async (t) => {
  const { start, used } = await open(t)
  const first = await start()
  await first.send(35)
  await first.end('SIGKILL')
  const killed = await used()
  t.ok(killed >= 35 && killed <= 35 + BATCH, `${killed} after 35 requests`)
  const [second, third] = [await start(), await start('--workers=2')]
  await Promise.all([second.send(13), third.send(14)])
  await Promise.all([second.end('SIGTERM'), third.end('SIGTERM')])
  t.equal(await used(), killed + 13 + 14)
})
