import t from 'tap'
import { createWorkerReadiness } from '../../../platform/admin/worker-readiness.ts'
import type { Workers } from '../../../platform/workers/workers.ts'

type Answers = [worker: number, problems: readonly string[] | undefined][]

t.test('processes that share a port are ready where one is', async (t) => {
  const cases: [told: Answers, problems: string[]][] = [
    [[], ['no worker process serves']],
    [
      [
        [1, undefined],
        [2, undefined],
      ],
      ['no worker process has answered within 500 ms'],
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
  for (const [told, problems] of cases) {
    const read = createWorkerReadiness((async () => new Map(told)) as Workers['ask'])
    t.same(await read(), problems)
  }
})

t.test('those who ask at one time get one answer, who asks later another', async (t) => {
  let questions = 0
  const ask = async () => new Map([[++questions, []]])
  const read = createWorkerReadiness(ask as unknown as Workers['ask'])
  await Promise.all([read(), read(), read()])
  t.equal(questions, 1)
  await read()
  t.equal(questions, 2)
})
