import t from 'tap'
import { toPlotData, toPointIndex } from '../../../../web/components/chart/plot-data.ts'

t.test('a point without a value leaves a gap in the line', (t) => {
  t.strictSame(toPlotData([1, 2, 3], [{ values: [5, undefined, 0] }]), [
    [1, 2, 3],
    [5, null, 0],
  ])
  t.end()
})

t.test('keys move between points, starting at the last one', (t) => {
  t.equal(toPointIndex('ArrowLeft', -1, 30), 28)
  t.equal(toPointIndex('ArrowRight', 28, 30), 29)
  t.equal(toPointIndex('ArrowRight', 29, 30), 29, 'the last point')
  t.equal(toPointIndex('PageDown', 29, 30), 19)
  t.equal(toPointIndex('Home', 19, 30), 0)
  t.equal(toPointIndex('ArrowLeft', 0, 30), 0)
  t.equal(toPointIndex('End', 0, 30), 29)
  t.equal(toPointIndex('Tab', 3, 30), undefined)
  t.equal(toPointIndex('Home', -1, 0), undefined, 'no points')
  t.end()
})
