import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { theme } from '../../layout/theme.ts'
import '../../style/chart.css'
import { formatDateTime, formatTime } from '../time/format-time.ts'
import { toPlotData, toPointIndex } from './plot-data.ts'
import { toTicks } from './ticks.ts'

export interface Series {
  readonly label: string
  /** A colour of tokens.css, such as `--accent`. */
  readonly color: string
  /** One for each time; undefined: there is none, and the line has a gap. */
  readonly values: readonly (number | undefined)[]
  /** Filled down to zero, in the colour of the name and `-soft`. */
  readonly filled?: boolean
}

export interface ChartProps {
  readonly title: string
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** A value as text, on the axis, in the legend and in the tooltip. */
  readonly format: (value: number) => string
}

const HEIGHT_PX = 180
/** Lines over time. A tooltip shows the values at the pointer, or at the point chosen by arrow keys. */
export function Chart({ title, times, series, format }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const id = useId()
  const labels = series.map(({ label }) => label).join()
  /** Time the tooltip is about, seconds since 1970: it stays while points come. */
  const [shownTime, setShownTime] = useState<number>()
  const shown = shownTime === undefined ? -1 : times.indexOf(shownTime)
  const describe = (at: number): string =>
    series.map(({ label, values }) => `${label} ${toText(values[at], format)}`).join(', ')
  useEffect(() => {
    const { current: element } = place
    if (element === null) return undefined
    const created = new UPlot(
      toOptions(element, series, format),
      toPlotData(times, series) as UPlot.AlignedData,
      element,
    )
    plot.current = created
    const observer = new ResizeObserver(() => {
      created.setSize({ width: element.clientWidth, height: HEIGHT_PX })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      created.destroy()
    }
  }, [labels])
  useEffect(() => {
    plot.current?.setData(toPlotData(times, series) as UPlot.AlignedData)
  }, [times, series])
  useEffect(() => {
    const draw = (): void => plot.current?.redraw()
    const dark = matchMedia('(prefers-color-scheme: dark)')
    draw()
    dark.addEventListener('change', draw)
    return () => dark.removeEventListener('change', draw)
  }, [theme.value])
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>
        <span class="chart-title">{title}</span>
        <ul class="chart-legend">
          {series.map(({ label, color, values }) => (
            <li key={label}>
              <span class="chart-mark" style={{ background: `var(${color})` }} aria-hidden="true" />
              {label} <b>{toText(values.at(-1), format)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div
        class="chart-plot"
        role="slider"
        tabIndex={0}
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={shown === -1 ? Math.max(0, times.length - 1) : shown}
        aria-valuetext={
          times.length === 0
            ? 'no values'
            : `${formatTime(times.at(shown)! * 1000)}: ${describe(shown === -1 ? times.length - 1 : shown)}`
        }
        onKeyDown={(event) => {
          const at = toPointIndex(event.key, shown, times.length)
          if (at === undefined) return
          event.preventDefault()
          setShownTime(times[at])
        }}
        onBlur={() => setShownTime(undefined)}
        onPointerMove={({ clientX }) => {
          const { current } = plot
          if (current === undefined || times.length === 0) return
          const { left } = current.over.getBoundingClientRect()
          setShownTime(times[current.posToIdx(clientX - left)])
        }}
        onPointerLeave={() => setShownTime(undefined)}
      >
        <div ref={place} aria-hidden="true" />
        {shown !== -1 && plot.current !== undefined && (
          <Tooltip left={toLeft(plot.current, times[shown]!)} width={plot.current.width}>
            <time>{formatDateTime(times[shown]! * 1000)}</time>
            {series.map(({ label, values }) => (
              <span key={label}>
                {label} <b>{toText(values[shown], format)}</b>
              </span>
            ))}
          </Tooltip>
        )}
      </div>
    </figure>
  )
}

interface TooltipProps {
  /** Of its point, pixels from the left edge of the chart. */
  readonly left: number
  /** Of the chart, pixels. */
  readonly width: number
  readonly children: ComponentChildren
}

/** A line at a point, and its values beside the line, on the side with more room. */
function Tooltip({ left, width, children }: TooltipProps): JSX.Element {
  const isRight = left > width / 2
  return (
    <div class="chart-cursor" style={{ left: `${left}px` }} aria-hidden="true">
      <div class={isRight ? 'chart-tooltip is-left' : 'chart-tooltip'}>{children}</div>
    </div>
  )
}

function toLeft(plot: UPlot, time: number): number {
  return plot.over.offsetLeft + plot.valToPos(time, 'x')
}

function toText(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '–' : format(value)
}

function toOptions(
  element: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
): UPlot.Options {
  // Asked for at each drawing, since the theme may change.
  const color = (name: string) => (): string => readColor(element, name)
  const grid = { stroke: color('--line'), width: 1 }
  const axis = { stroke: color('--muted'), grid, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, __, max) => [0, Math.max(max, Number.EPSILON) * 1.1] } },
    axes: [
      {
        ...axis,
        space: 80,
        size: 32,
        values: (_, values) => values.map((seconds) => formatTime(seconds * 1000)),
      },
      { ...axis, size: 64, space: 32, values: (_, values) => toTicks(values, format) },
    ],
    series: [
      {},
      ...series.map(({ label, color: name, filled }) => ({
        label,
        stroke: color(name),
        width: 1.5,
        points: { show: false },
        ...(filled === true && { fill: color(`${name}-soft`) }),
      })),
    ],
  }
}

/** The colour behind a name, in the theme of now. */
function readColor(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ''
  return color
}
