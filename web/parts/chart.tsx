import type { JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { theme } from '../shell/theme.ts'
import '../style/chart.css'
import { toTicks } from './ticks.ts'

export interface Series {
  readonly label: string
  /** A colour of tokens.css, such as `--accent`. */
  readonly color: string
  /** One for each time; undefined: there is none. */
  readonly values: readonly (number | undefined)[]
  /** Filled down to zero, in the colour of the name and `-soft`. */
  readonly filled?: boolean
}

export interface ChartProps {
  readonly title: string
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** A value as text, on the axis and in the legend. */
  readonly format: (value: number) => string
}

const HEIGHT_PX = 180

/** Lines over time, drawn anew with what is new. What it shows is there as text, too. */
export function Chart({ title, times, series, format }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const id = useId()
  const labels = series.map(({ label }) => label).join()
  useEffect(() => {
    const { current: element } = place
    if (element === null) return undefined
    const created = new UPlot(
      toOptions(element, series, format),
      toData(times, series) as UPlot.AlignedData,
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
    plot.current?.setData(toData(times, series) as UPlot.AlignedData)
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
      <div ref={place} aria-hidden="true" />
    </figure>
  )
}

function toData(times: readonly number[], series: readonly Series[]): unknown {
  return [times, ...series.map(({ values }) => values)]
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
      { ...axis, space: 80, size: 32, values: (_, values) => values.map(formatTime) },
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

function formatTime(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString()
}

/** The colour behind a name, in the theme of now. */
function readColor(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ''
  return color
}
