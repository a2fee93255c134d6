import t from 'tap'
import {
  formatTraceparent,
  parseSpanContext,
  parseTracestate,
} from '../../../core/tracing/span-context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

t.test('a valid traceparent is parsed into trace id, span id and sampled flag', async (t) => {
  const spanContext = { traceId: TRACE, spanId: SPAN, tracestate: '', isRemote: true }
  const cases: readonly [text: string, isSampled: boolean][] = [
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`00-${TRACE}-${SPAN}-fe`, false],
    [`01-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-later-versions-say`, true],
  ]
  for (const [text, isSampled] of cases)
    t.same(parseSpanContext(text), { ...spanContext, isSampled }, text)
  t.equal(formatTraceparent(TRACE, SPAN, true), `00-${TRACE}-${SPAN}-01`)
  t.equal(formatTraceparent(TRACE, SPAN, false), `00-${TRACE}-${SPAN}-00`)
})

t.test('a malformed traceparent is ignored', async (t) => {
  const cases: readonly string[] = [
    '',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-001`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `ff-${TRACE}-${SPAN}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN.toUpperCase()}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}a-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-xx`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00_${TRACE}_${SPAN}_01`,
    `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`,
  ]
  for (const text of cases) t.equal(parseSpanContext(text, 'vendor=1'), undefined, text)
  t.equal(parseSpanContext(undefined, 'vendor=1'), undefined)
})

t.test('a valid tracestate is normalized, a malformed one is dropped', async (t) => {
  const many = Array.from({ length: 33 }, (_, i) => `k${i}=v`)
  const cases: readonly [text: string, expected: string][] = [
    ['vendor=1', 'vendor=1'],
    ['a=1 , b=2', 'a=1,b=2'],
    ['a=1,,\t,b=2', 'a=1,b=2'],
    ['1tenant@system=x y', '1tenant@system=x y'],
    [many.slice(1).join(), many.slice(1).join()],
    [many.join(), ''],
    ['a=1,a=2', ''],
    ['A=1', ''],
    ['1=1', ''],
    ['a', ''],
    ['a=', ''],
    ['a=b=c', ''],
    [`a=${'x'.repeat(257)}`, ''],
    [`${'k'.repeat(257)}=1`, ''],
    ['a=\u00e9', ''],
    ['x'.repeat(100_000), ''],
  ]
  for (const [text, expected] of cases) t.equal(parseTracestate(text), expected, text.slice(0, 40))
})

t.test(
  'a tracestate over 512 characters loses its long members first, then its last members',
  async (t) => {
    const long = `long=${'x'.repeat(200)}`
    const short = Array.from({ length: 6 }, (_, i) => `s${i}=${'y'.repeat(90)}`)
    t.equal(parseTracestate([long, ...short].join()), short.slice(0, 5).join())
    t.equal(
      parseTracestate([long, ...short.slice(0, 3)].join()),
      [long, ...short.slice(0, 3)].join(),
    )
  },
)
