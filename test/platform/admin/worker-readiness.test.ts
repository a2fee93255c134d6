import t from 'tap'
import { createWorkerReadiness } from '../../../platform/admin/worker-readiness.ts'
import type { Workers } from '../../../platform/workers/workers.ts'

type Responses = [worker: number, problems: readonly string[] | undefined][]

t.test('is ready if any process that shares the port is ready', async (t) => {
  const cases: [responses: Responses, problems: string[]][] = [
    [[], ['no worker is running']],
    [
      [
        [1, undefined],
        [2, undefined],
      ],
      ['no worker responded within 500 ms'],
    ],
    [
      [
        [1, ['a']],
        [2, undefined],
      ],
      ['a'],
    ],
    [
      [
        [1, ['a']],
        [2, ['a', 'b']],
      ],
      ['a', 'b'],
    ],
    [
      [
        [1, ['a']],
        [2, []],
      ],
      [],
    ],
  ]
  for (const [responses, problems] of cases) {
    const read = createWorkerReadiness((async () => new Map(responses)) as Workers['query'])
    t.same(await read(), problems)
  }
})

t.test('concurrent checks share one result', async (t) => {
  let queries = 0
  const query = async () => new Map([[++queries, []]])
  const read = createWorkerReadiness(query as unknown as Workers['query'])
  await Promise.all([read(), read(), read()])
  t.equal(queries, 1)
  await read()
  t.equal(queries, 2)
})
