import t from 'tap'
import { createHourlyLimit } from '../../../platform/acme/hourly-limit.ts'

t.test('allows 10 new host names an hour, and those with a certificate at any time', async (t) => {
  let nowMs = 0
  const warnings: string[] = []
  const ask = createHourlyLimit({
    has: (host) => host === 'issued.test',
    elapsedMs: () => nowMs,
    onWarning: (message) => warnings.push(message),
  })
  for (let n = 0; n < 10; n++) {
    nowMs = n * 1000
    t.equal(await ask(`${n}.test`), true)
  }
  t.equal(await ask('10.test'), false)
  t.match(warnings, [
    /^certificate limit reached: 10 new host names an hour; .*acme_hosts.*acme_ask/,
  ])
  t.equal(await ask('3.test'), true, 'another attempt for a counted name')
  t.equal(await ask('issued.test'), true)
  nowMs = 3600_000
  t.equal(await ask('10.test'), true, 'the first name was an hour ago')
  t.equal(await ask('11.test'), false)
})
