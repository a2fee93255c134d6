import t from 'tap'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
} from '../../../../web/components/time/format.ts'

t.test('formats ages, sizes, durations and counts', async (t) => {
  t.same([0, -2000, 61_000, 7_200_000, -90_000_000].map(formatAge), [
    'now',
    'now',
    '1 min ago',
    '2 h ago',
    'in 1 d',
  ])
  t.same([0, 512, 1536, 1_048_576, 200 * 1024].map(formatBytes), [
    '0 B',
    '512 B',
    '1.5 KiB',
    '1.0 MiB',
    '200 KiB',
  ])
  t.same([0, 0.04, 0.05, 0.84, 42.4, 1250].map(formatDuration), [
    '0 ms',
    '0 ms',
    '0.1 ms',
    '0.8 ms',
    '42 ms',
    '1.25 s',
  ])
  t.same([0, 2.14, 1204, 12_400, 3_100_000].map(formatCount), [
    '0',
    '2.1',
    '1,204',
    '12.4 k',
    '3.1 M',
  ])
})
