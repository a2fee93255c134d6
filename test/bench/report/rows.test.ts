import t from 'tap'
import { formatRows } from '../../../bench/report/rows.ts'

t.test('formats rows as a Markdown table with right-aligned figures', async (t) => {
  const rows = [
    { store: 'mx', 'reads/s': 100_000 },
    { store: 'redis', 'reads/s': 250_000 },
  ]
  const lines = ['| store | reads/s |', '| --- | --: |', '| mx | 100000 |', '| redis | 250000 |']
  t.equal(formatRows(rows), `${lines.join('\n')}\n`)
})
