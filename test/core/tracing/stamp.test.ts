import t from 'tap'
import { stampTraceparent } from '../../../core/tracing/stamp.ts'

const A = `00-${'a'.repeat(32)}-${'a'.repeat(16)}-01`
const B = `00-${'b'.repeat(32)}-${'b'.repeat(16)}-00`

t.test('stampTraceparent replaces the traceparent of a head or block', async (t) => {
  const head = `GET / HTTP/1.1\r\nhost: a\r\ntraceparent: ${A}\r\naccept: b\r\n\r\n`
  t.equal(stampTraceparent(head, B), head.replace(A, B))
  t.equal(stampTraceparent(`traceparent: ${A}\r\n`, B), `traceparent: ${B}\r\n`)
})

t.test('a block without traceparent is unchanged', async (t) => {
  for (const block of ['', 'host: a\r\n', `x-traceparent: ${A}\r\n`, `x: traceparent: ${A}\r\n`])
    t.equal(stampTraceparent(block, B), block)
})

t.test('a traceparent of any length is replaced without changing its neighbors', async (t) => {
  for (const value of ['', 'x', `01-${A.slice(3)}-more-of-a-later-version`, 'y'.repeat(300)]) {
    const block = (is: string): string =>
      `host: a\r\ntraceparent: ${is}\r\nauthorization: b\r\n\r\n`
    t.equal(stampTraceparent(block(value), B), block(B), value)
    t.equal(stampTraceparent(`traceparent: ${value}`, B), `traceparent: ${B}`)
  }
})
