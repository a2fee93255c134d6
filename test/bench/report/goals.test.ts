import t from 'tap'
import { compareGoals } from '../../../bench/report/goals.ts'

t.test('accepts a figure at or below its goal', async (t) => {
  const goals = [
    { label: 'reads/s', value: 100, atLeast: 100 },
    { label: 'page, ms', value: 4.2, atMost: 5 },
  ]
  t.strictSame(compareGoals(goals), {
    lines: ['ok   reads/s: 100, at least 100', 'ok   page, ms: 4.2, at most 5'],
    passed: true,
  })
})

t.test('reports missed goals and missing figures', async (t) => {
  const goals = [
    { label: 'reads/s', value: 99, atLeast: 100 },
    { label: 'page, ms', value: 6, atMost: 5 },
    { label: 'writes/s', value: Number.NaN, atLeast: 80 },
    { label: 'replayed/s', value: 300, atLeast: 200 },
  ]
  const { lines, passed } = compareGoals(goals)
  t.notOk(passed)
  t.strictSame(
    lines.map((line) => line.slice(0, 4)),
    ['FAIL', 'FAIL', 'FAIL', 'ok  '],
  )
})
