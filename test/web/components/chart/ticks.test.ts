import t from 'tap'
import { toTicks } from '../../../../web/components/chart/ticks.ts'

t.test('omits repeated labels of an axis', async (t) => {
  const format = (value: number) => value.toFixed(1)
  t.same(toTicks([0, 1e-17, 2e-17], format), ['0.0', '', ''])
  t.same(toTicks([0, 0.5, 1], format), ['0.0', '0.5', '1.0'])
})
