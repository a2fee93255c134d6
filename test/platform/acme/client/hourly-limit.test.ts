import t from 'tap'
import { createHourlyLimit } from '../../../../platform/acme/client/hourly-limit.ts'

t.test('allows 10 new host names an hour, and hosts with a certificate at any time', async (t) => {
  let nowMs = 0
  const warnings: string[] = []
  const sendRequest = createHourlyLimit({
    has: (host) => host === 'issued.test',
    elapsedMs: () => nowMs,
    onWarning: (message) => warnings.push(message),
  })
  for (let n = 0; n < 10; n++) {
    nowMs = n * 1000
    t.equal(await sendRequest(`${n}.test`), true)
  }
  t.equal(await sendRequest('10.test'), false)
  t.match(warnings.splice(0), [
    /^certificate limit reached: 10 new host names per hour; rejected requests: 1; .*acme_hosts.*acme_ask/,
  ])
  for (let n = 11; n < 31; n++) t.equal(await sendRequest(`${n}.test`), false)
  t.same(warnings, [], 'once per hour')
  t.equal(await sendRequest('3.test'), true, 'another attempt for a name that is already counted')
  t.equal(await sendRequest('issued.test'), true)
  nowMs = 3600_000
  t.equal(await sendRequest('10.test'), true, 'the first name was an hour ago')
  t.equal(await sendRequest('11.test'), false)
  t.same(warnings, [])
  nowMs = 3609_000 - 1
  for (let n = 12; n < 40; n++) await sendRequest(`${n}.test`)
  nowMs += 1000
  for (const host of ['50.test', '51.test']) await sendRequest(host)
  t.match(warnings, [/; rejected requests since the last warning: \d\d; /])
})
