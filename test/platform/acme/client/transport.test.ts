import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createTransport } from '../../../../platform/acme/client/transport.ts'
import { createOnDemandPolicy } from '../../../../platform/acme/on-demand-policy.ts'
import { createCertificate } from '../../../fixtures/certificates.ts'
import { listen } from '../../../fixtures/listen.ts'

const certificate = createCertificate(['127.0.0.1'])
const NOW_MS = Date.parse('2026-01-01T00:00:00Z')

async function open(
  t: Test,
  listener: RequestListener,
  { ca = certificate.cert, timeoutMs = 20_000 } = {},
) {
  const server = createTlsServer(certificate, listener)
  const port = await listen(t, server)
  const skews: number[] = []
  const closing = new AbortController()
  t.teardown(() => closing.abort())
  const options = { ca, signal: closing.signal, timeoutMs, nowMs: () => NOW_MS }
  const transport = createTransport({ ...options, onSkew: (ms) => skews.push(ms) })
  const url = `https://127.0.0.1:${port}/dir`
  const request = { url, method: 'GET', headers: {}, body: undefined }
  return { transport, skews, closing, send: () => transport.send(request), request }
}

t.test('returns the error and Retry-After of the directory', async (t) => {
  const replies: [number, string][] = [
    [429, JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many' })],
    [400, JSON.stringify({ type: 'urn:ietf:params:acme:error:badNonce', detail: 'again' })],
    [503, '<html>'],
    [200, '{}'],
  ]
  const { send, skews } = await open(t, (_, res) => {
    const [status, body] = replies.shift()!
    res.writeHead(status, { 'retry-after': '90', date: 'Thu, 01 Jan 2026 02:00:00 GMT' }).end(body)
  })
  t.match((await send()).problem, {
    kind: 'rateLimited',
    message: 'rateLimited: too many',
    retryAfterMs: 90_000,
  })
  t.match((await send()).problem, { kind: 'rejected', message: 'badNonce: again' })
  t.match((await send()).problem, { kind: 'unavailable', message: 'status 503' })
  t.match(await send(), { body: '{}', problem: undefined })
  t.same(new Set(skews), new Set([2 * 3600 * 1000]), 'the clocks are compared')
})

t.test('reports an unreachable directory with a one-line message', async (t) => {
  const slow = await open(t, () => {}, { timeoutMs: 200 })
  await t.rejects(slow.send(), {
    kind: 'unavailable',
    message: /^127\.0\.0\.1:\d+ is unreachable: no response within 200 ms$/,
  })
  const endless = await open(t, (_, res) => void res.end('x'.repeat(2_000_000)))
  await t.rejects(endless.send(), { kind: 'unavailable', message: /the response is too large$/ })
  const malformed = await open(t, (_, res) => void res.end(), {
    ca: createCertificate(['b.test'], { hasOwnKey: true }).cert,
  })
  await t.rejects(malformed.send(), {
    message: /: set acme_ca_file to the CA of its certificate$/,
  })
  const plain = { ...slow.request, url: 'http://127.0.0.1:1/dir' }
  await t.rejects(slow.transport.send(plain), { message: /must be an https:\/\/ URL$/ })
  const silent = await open(t, () => {})
  const pending = silent.send()
  silent.closing.abort()
  await t.rejects(pending, { message: /is unreachable: / }, 'close aborts pending requests')
})

t.test('an on-demand policy allows only status 200 and caches denials', async (t) => {
  const requests: string[] = []
  const rule = createServer((req, res) => {
    requests.push(req.url!)
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
  const sendRequest = createOnDemandPolicy({ url, onError })
  const withShortTimeout = createOnDemandPolicy({ url, onError, timeoutMs: 100 })
  t.equal(await sendRequest('yes.test'), true)
  t.equal(await sendRequest('no.test'), false)
  t.equal(await sendRequest('moved.test'), false)
  t.same(
    requests,
    ['yes', 'no', 'moved'].map((name) => `/may?key=1&domain=${name}.test`),
  )
  t.equal(await sendRequest('no.test'), false)
  t.equal(requests.length, 3, 'denials are cached')
  t.same(messages, [])
  t.equal(await withShortTimeout('slow.test'), false)
  rule.close()
  rule.closeAllConnections()
  t.equal(await sendRequest('gone.test'), false)
  t.match(messages, [
    /^cannot query 127\.0\.0\.1:\d+ for permission to order a certificate for slow\.test: /,
    /for gone\.test: ./,
  ])
})
