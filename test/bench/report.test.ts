import t from 'tap'
import { parseH2load, readLatencies } from '../../bench/http/load/h2load.ts'
import { parseWrk } from '../../bench/http/load/wrk.ts'
import type { Machine } from '../../bench/http/machine.ts'
import type { Measurement } from '../../bench/http/measure.ts'
import { parseOptions } from '../../bench/http/options.ts'
import type { Row } from '../../bench/http/rounds.ts'
import { findScenario, SCENARIOS } from '../../bench/http/scenarios.ts'
import { formatTable } from '../../bench/http/table.ts'
import { median } from '../../bench/report/median.ts'
import { compareRatios, type Recorded } from '../../bench/report/ratios.ts'

const WRK = `Running 1s test @ http://127.0.0.1:9100/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   588.53us  196.04us   5.02ms   91.17%
    Req/Sec   108.02k     3.97k  113.15k    90.91%
  Latency Distribution
     50%  567.00us
     75%  639.00us
     90%  721.00us
     99%    1.32ms
  118238 requests in 1.10s, 24.13MB read
Requests/sec: 107500.68
Transfer/sec:     21.94MB
`

t.test('parses the output of wrk with units', async (t) => {
  t.same(parseWrk(WRK), {
    requests: 118238,
    requestsPerSecond: 107500.68,
    p50Ms: 0.567,
    p99Ms: 1.32,
    errors: 0,
  })
})

t.test('counts failed connections and rejected requests as errors', async (t) => {
  const text = `${WRK}  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 10\n`
  t.equal(parseWrk(text).errors, 20)
})

t.test('parses latencies in seconds with trailing spaces', async (t) => {
  const text = WRK.replace('99%    1.32ms', '99%    2.19s ')
  t.equal(parseWrk(text).p99Ms, 2190)
})

t.test('quotes output without figures in the error', async (t) => {
  t.throws(() => parseWrk('unable to connect'), /unable to connect/)
})

t.test('parses the output of h2load and its request log', async (t) => {
  const text = `finished in 3.00s, 12345.67 req/s, 1.23MB/s
requests: 37040 total, 37101 started, 37040 done, 37037 succeeded, 3 failed, 2 errored, 1 timeout
status codes: 37037 2xx, 0 3xx, 0 4xx, 0 5xx
`
  t.same(parseH2load(text), { requests: 37037, requestsPerSecond: 12345.67, errors: 3 })
  t.throws(() => parseH2load('connection refused'), /connection refused/)
  const log = Array.from({ length: 101 }, (_, i) => `170000000000\t200\t${(100 - i) * 1000}\n`)
  t.same(readLatencies(log.join('')), { p50Ms: 50, p99Ms: 99 })
})

t.test(
  'computes the median of an even number of rounds as the mean of the middle two',
  async (t) => {
    t.equal(median([3, 1, 2]), 2)
    t.equal(median([4, 1, 2, 3]), 2.5)
    t.ok(Number.isNaN(median([])))
  },
)

const round = (cpuMicros: number): Measurement => ({
  cpuMicros,
  requestsPerSecond: 12_345,
  p50Ms: 1,
  p99Ms: 2,
  errors: 0,
  peakMiB: 20,
})

t.test('lists medians, extremes and ratios, and why figures of a rival are missing', async (t) => {
  const row = { title: 'a', version: '1.0', ratio: 1 }
  const rows: Row[] = [
    { ...row, name: 'a', rounds: [round(10), round(12), round(11)], median: round(11) },
    { ...row, name: 'b', rounds: [], median: round(Number.NaN), problem: 'it | ended' },
  ]
  const lines = formatTable(rows).split('\n')
  t.match(lines[0], 'relative to a')
  t.equal(lines[2], '| a 1.0 | 12.3 k | 11.0 (10.0-12.0) | 1.00 | 1.00 | 2.00 | 20.0 | 0 |')
  t.equal(lines[3], '| a 1.0 | not measured: it / ended | | | | | | |')
})

t.test('scenarios have unique names and existing rivals', async (t) => {
  t.equal(new Set(SCENARIOS.map(({ name }) => name)).size, SCENARIOS.length)
  t.throws(() => findScenario('speed'), /unknown scenario speed/)
  for (const { rivals = [] } of SCENARIOS)
    if (rivals.length > 0) t.doesNotThrow(() => parseOptions(['--only', rivals.join(',')]))
})

t.test(
  'selects scenarios and rivals by flags and rejects unknown ones with suggestions',
  async (t) => {
    const options = parseOptions([
      '--rounds',
      '1',
      '--seconds',
      '2',
      '--scenario',
      'tls,proxy',
      '--only',
      'undici',
    ])
    t.match(options, {
      measurement: 'scenarios',
      rounds: 1,
      seconds: 2,
      connections: 64,
      requests: 1_000_000,
    })
    t.same(
      options.scenarios.map(({ name }) => name),
      ['proxy', 'tls'],
    )
    t.same(
      options.rivals.map(({ name }) => name),
      ['undici'],
    )
    t.equal(parseOptions(['soak']).measurement, 'soak')
    t.throws(() => parseOptions(['--only', 'apache']), {
      name: 'RangeError',
      message: /--only must be one or more of nginx, mx, .*"apache"/,
    })
    t.throws(() => parseOptions(['--rounds', 'many']), {
      name: 'RangeError',
      message: /--rounds must be a whole number/,
    })
    t.throws(() => parseOptions(['speed']), {
      name: 'RangeError',
      message: /measurement must be one of scenarios, memory, .*"speed"/,
    })
    t.throws(() => parseOptions(['--fast']), { name: 'RangeError', message: /--fast/ })
  },
)

const MACHINE: Machine = {
  cpu: 'x',
  cores: 2,
  memoryGiB: 8,
  system: 'Linux',
  node: 'v20',
  pinned: true,
}
const recorded = (ratios: Record<string, number>, against = 'nginx'): Recorded => ({
  date: '',
  against,
  machine: MACHINE,
  ratios,
})

t.test('guard accepts up to 15 % above the record', async (t) => {
  t.equal(compareRatios(recorded({ proxy: 1 }), recorded({ proxy: 1.149 })).passed, true)
  t.equal(compareRatios(recorded({ proxy: 1 }), recorded({ proxy: 0.5 })).passed, true)
  const slower = compareRatios(
    recorded({ proxy: 1, other: 1 }),
    recorded({ proxy: 1.16, other: 1 }),
  )
  t.equal(slower.passed, false)
  t.match(slower.lines, ['FAIL proxy: 1.16 x nginx, baseline 1.00, limit 1.15', /^ok/])
})

t.test('guard fails for missing and incomparable figures', async (t) => {
  t.equal(compareRatios(recorded({ proxy: 1 }), recorded({})).passed, false)
  t.equal(compareRatios(recorded({ proxy: 1 }), recorded({ proxy: Number.NaN })).passed, false)
  t.throws(
    () => compareRatios(recorded({}), recorded({}, 'uws-floor')),
    /relative to nginx, this run to uws-floor/,
  )
})

t.test('guard fails for a scenario without a record', async (t) => {
  const { lines, passed } = compareRatios(recorded({ proxy: 1 }), recorded({ proxy: 1, rpc: 0.75 }))
  t.equal(passed, false)
  t.match(lines[1], /^FAIL rpc: 0\.75 x nginx, no baseline: run npm run bench guard -- --record$/)
})

t.test('marks figures measured on another machine', async (t) => {
  const otherMachine = { ...recorded({ proxy: 1 }), machine: { ...MACHINE, cpu: 'y' } }
  t.match(
    compareRatios(recorded({ proxy: 1 }), otherMachine).lines[1],
    'note: the baseline was recorded on x, this machine has y',
  )
})
