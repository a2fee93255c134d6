import t from 'tap'
import { compareCells, type SortKey } from '../../../../web/components/table/compare-cells.ts'

t.test('sorts cells in natural order, with unknown values last', async (t) => {
  const sorted = (keys: SortKey[]): SortKey[] =>
    keys
      .map((key) => ({ key }))
      .sort((a, b) => compareCells(a.key, b.key))
      .map(({ key }) => key)
  t.same(sorted([10, 9, undefined, 100]), [9, 10, 100, undefined])
  t.same(sorted(['node-10', 'node-2', 'Node-1']), ['Node-1', 'node-2', 'node-10'])
})
