import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createTransport } from '../../../../platform/acme/client/transport.ts'
import { createOnDemandPolicy } from '../../../../platform/acme/on-demand-policy.ts'
import { createCertificate } from '../../../fixtures/certificates.ts'

const certificate = createCertificate(['127.0.0.1'])
const NOW_MS = Date.parse('2026-01-01T00:00:00Z')

async function open(
  t: Test,
  listener: RequestListener,
  { ca = certificate.cert, timeoutMs = 20_000 } = {},
) {
  const server = createTlsServer(certificate, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const skews: number[] = []
  const closing = new AbortController()
  t.teardown(() => closing.abort())
  const options = { ca, signal: closing.signal, timeoutMs, nowMs: () => NOW_MS }
  const transport = createTransport({ ...options, onSkew: (ms) => skews.push(ms) })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/dir`
  const asked = { url, method: 'GET', headers: {}, body: undefined }
  return { transport, skews, closing, send: () => transport.send(asked), asked }
}

t.test(
  'what a directory says is wrong is told, with how long it wants to be left alone',
  async (t) => {
    const replies: [number, string][] = [
      [429, JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many' })],
      [400, JSON.stringify({ type: 'urn:ietf:params:acme:error:badNonce', detail: 'again' })],
      [503, '<html>'],
      [200, '{}'],
    ]
    const { send, skews } = await open(t, (_, res) => {
      const [status, body] = replies.shift()!
      res
        .writeHead(status, { 'retry-after': '90', date: 'Thu, 01 Jan 2026 02:00:00 GMT' })
        .end(body)
    })
    t.match((await send()).problem, {
      kind: 'limited',
      message: 'rateLimited: too many',
      retryAfterMs: 90_000,
    })
    t.match((await send()).problem, { kind: 'refused', message: 'badNonce: again' })
    t.match((await send()).problem, { kind: 'away', message: 'status 503' })
    t.match(await send(), { body: '{}', problem: undefined })
    t.same(new Set(skews), new Set([2 * 3600 * 1000]), 'clocks are compared')
  },
)

t.test('a directory that cannot be had is told in one line', async (t) => {
  const slow = await open(t, () => {}, { timeoutMs: 200 })
  await t.rejects(slow.send(), {
    kind: 'away',
    message: /^127\.0\.0\.1:\d+ cannot be reached: no answer within 200 ms$/,
  })
  const endless = await open(t, (_, res) => void res.end('x'.repeat(2_000_000)))
  await t.rejects(endless.send(), { kind: 'away', message: /its answer is too long$/ })
  const strange = await open(t, (_, res) => void res.end(), {
    ca: createCertificate(['b.test'], { ownKey: true }).cert,
  })
  await t.rejects(strange.send(), {
    message: /: name the file of its certificate's authority in acme_ca_file$/,
  })
  const plain = { ...slow.asked, url: 'http://127.0.0.1:1/dir' }
  await t.rejects(slow.transport.send(plain), { message: /https:\/\/ alone$/ })
  const silent = await open(t, () => {})
  const pending = silent.send()
  silent.closing.abort()
  await t.rejects(pending, { message: /cannot be reached: / }, 'nothing is waited for at the end')
})

t.test('an ask rule says yes by 200 alone, and is not asked all the time', async (t) => {
  const asked: string[] = []
  const rule = createServer((req, res) => {
    asked.push(req.url!)
    if (req.url!.includes('slow')) return
    if (req.url!.includes('moved')) res.writeHead(302, { location: '/yes' })
    else res.writeHead(req.url!.includes('yes') ? 200 : 404)
    res.end()
  }).listen(0, '127.0.0.1')
  await once(rule, 'listening')
  const { port } = rule.address() as AddressInfo
  const messages: string[] = []
  const url = `http://127.0.0.1:${port}/may?key=1`
  const onError = (message: string) => void messages.push(message)
  const ask = createOnDemandPolicy({ url, onError })
  const hasty = createOnDemandPolicy({ url, onError, timeoutMs: 100 })
  t.equal(await ask('yes.test'), true)
  t.equal(await ask('no.test'), false)
  t.equal(await ask('moved.test'), false)
  t.same(
    asked,
    ['yes', 'no', 'moved'].map((name) => `/may?key=1&domain=${name}.test`),
  )
  t.equal(await ask('no.test'), false)
  t.equal(asked.length, 3, 'a no counts for a while')
  t.same(messages, [])
  t.equal(await hasty('slow.test'), false)
  rule.close()
  rule.closeAllConnections()
  t.equal(await ask('gone.test'), false)
  t.match(messages, [
    /^127\.0\.0\.1:\d+ does not say whether slow\.test may have a certificate: /,
    /does not say whether gone\.test may have a certificate: ./,
  ])
})
