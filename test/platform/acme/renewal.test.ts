import t from 'tap'
import { type AcmeError, parseRetryAfter } from '../../../platform/acme/client/acme-error.ts'
import { toRetryMs } from '../../../platform/acme/client/back-off.ts'
import {
  pickTime,
  readValidity,
  toCertificateId,
  toNextCheckMs,
  toRenewMs,
} from '../../../platform/acme/renewal.ts'
import { createCertificate } from '../../fixtures/certificates.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

t.test('renews a certificate after two thirds of its lifetime, plus jitter', (t) => {
  const validity = { fromMs: 0, toMs: 90 * DAY_MS }
  t.equal(
    toRenewMs(validity, () => 0),
    60 * DAY_MS,
  )
  t.equal(
    toRenewMs(validity, () => 1),
    63 * DAY_MS,
  )
  const notBefore = new Date('2026-01-01T00:00:00Z')
  const notAfter = new Date('2026-04-01T00:00:00Z')
  t.same(readValidity(createCertificate(['a.test'], { notBefore, notAfter }).cert), {
    fromMs: notBefore.getTime(),
    toMs: notAfter.getTime(),
  })
  t.end()
})

t.test('picks a stable random time in the suggested window (RFC 9773 §4.2)', (t) => {
  const window = { startMs: 1000, endMs: 2000, retryAfterMs: undefined }
  const renewMs = pickTime(window, undefined, () => 0.5)
  t.equal(renewMs, 1500)
  t.equal(
    pickTime({ ...window }, { window, renewMs }, () => 0.9),
    1500,
    'the same time for the same window',
  )
  t.equal(
    pickTime({ ...window, endMs: 3000 }, { window, renewMs }, () => 0.9),
    2800,
  )
  t.equal(toNextCheckMs({}), 6 * HOUR_MS)
  t.equal(toNextCheckMs({ retryAfterMs: 5 }), MINUTE_MS)
  t.equal(toNextCheckMs({ retryAfterMs: 30 * DAY_MS }), DAY_MS)
  t.end()
})

t.test('computes the certificate id of the example in RFC 9773, appendix A', async (t) => {
  const cert = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----`
  t.equal(await toCertificateId(cert), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
  t.equal(
    await toCertificateId(createCertificate(['a.test']).cert),
    undefined,
    'a certificate without an issuer key id',
  )
})

t.test('backs off depending on the kind of failure, within the rate limits of directories', (t) => {
  const toDelay = (kind: AcmeError['kind'], retryAfterMs?: number) => (failures: number) =>
    toRetryMs({ kind, retryAfterMs }, failures, () => 0)
  t.same([0, 1, 2, 3, 20].map(toDelay('unavailable')), [
    10_000,
    20_000,
    40_000,
    80_000,
    10 * MINUTE_MS,
  ])
  t.same(
    [0, 1, 2, 3, 20].map(toDelay('rejected')),
    [1, 3, 9, 27, 360].map((minutes) => minutes * MINUTE_MS),
  )
  t.equal(toDelay('rateLimited')(0), HOUR_MS)
  t.equal(
    toDelay('rateLimited', 3 * DAY_MS)(0),
    3 * DAY_MS,
    'Retry-After of the directory takes precedence',
  )
  t.equal(toDelay('rateLimited', 1000 * DAY_MS)(0), 7 * DAY_MS)
  t.equal(toDelay('rejected', 1000)(0), MINUTE_MS, 'never sooner than the local backoff')
  t.equal(
    toRetryMs({ kind: 'unavailable', retryAfterMs: undefined }, 0, () => 1),
    12_500,
    'with jitter',
  )
  t.end()
})

t.test('parses Retry-After as seconds or a date (RFC 9110 §10.2.3)', (t) => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z')
  t.equal(parseRetryAfter('120', nowMs), 120_000)
  t.equal(parseRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', nowMs), MINUTE_MS)
  t.equal(parseRetryAfter('Thu, 01 Jan 2025 00:01:00 GMT', nowMs), 0)
  for (const field of [undefined, '', 'soon', '-5x'])
    t.equal(parseRetryAfter(field, nowMs), undefined)
  t.end()
})
