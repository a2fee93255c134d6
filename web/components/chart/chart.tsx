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
  /** CSS custom property from tokens.css, such as `--accent`. */
  readonly color: string
  /** Values by time; undefined leaves a gap in the line. */
  readonly values: readonly (number | undefined)[]
  /** Fill the area below the line with the `-soft` variant of the colour. */
  readonly filled?: boolean
}

export interface ChartProps {
  readonly title: string
  /** Unix times in seconds, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** Formats values of the axis, legend and tooltip. */
  readonly format: (value: number) => string
}

const HEIGHT_PX = 180

/** Time series chart. A tooltip shows the values at the pointer or at the point selected with the arrow keys. */
export function Chart({ title, times, series, format }: ChartProps): JSX.Element {
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const id = useId()
  const labels = series.map(({ label }) => label).join()
  /** Unix time of the tooltip in seconds. An index would shift as points arrive. */
  const [tooltipTime, setTooltipTime] = useState<number>()
  const active = tooltipTime === undefined ? -1 : times.indexOf(tooltipTime)
  const describe = (at: number): string =>
    series.map(({ label, values }) => `${label} ${toText(values[at], format)}`).join(', ')
  useEffect(() => {
    const { current: element } = container
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
        aria-valuenow={active === -1 ? Math.max(0, times.length - 1) : active}
        aria-valuetext={
          times.length === 0
            ? 'no values'
            : `${formatTime(times.at(active)! * 1000)}: ${describe(active === -1 ? times.length - 1 : active)}`
        }
        onKeyDown={(event) => {
          const at = toPointIndex(event.key, active, times.length)
          if (at === undefined) return
          event.preventDefault()
          setTooltipTime(times[at])
        }}
        onBlur={() => setTooltipTime(undefined)}
        onPointerMove={({ clientX }) => {
          const { current } = plot
          if (current === undefined || times.length === 0) return
          const { left } = current.over.getBoundingClientRect()
          setTooltipTime(times[current.posToIdx(clientX - left)])
        }}
        onPointerLeave={() => setTooltipTime(undefined)}
      >
        <div ref={container} aria-hidden="true" />
        {active !== -1 && plot.current !== undefined && (
          <Tooltip left={toLeft(plot.current, times[active]!)} width={plot.current.width}>
            <time>{formatDateTime(times[active]! * 1000)}</time>
            {series.map(({ label, values }) => (
              <span key={label}>
                {label} <b>{toText(values[active], format)}</b>
              </span>
            ))}
          </Tooltip>
        )}
      </div>
    </figure>
  )
}

interface TooltipProps {
  /** Position of the point in pixels from the left edge of the chart. */
  readonly left: number
  /** Width of the chart in pixels. */
  readonly width: number
  readonly children: ComponentChildren
}

/** Vertical line at a point, with its values in a tooltip on the side with more space. */
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
  // Read on each redraw, because the theme may change.
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

/** Resolves a colour from tokens.css in the current theme. */
function readColor(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ''
  return color
}
