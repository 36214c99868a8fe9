// Frames of the screen only when something is to be drawn.
//
// Cytoscape.js asks for every frame there is, sixty a second, and draws in few of them. Each would cost the browser a
// pass over the whole page. Here it gets the frames that `draw` announces, and two a second besides.

const IDLE_MILLISECONDS = 500;

const askFor = window.requestAnimationFrame.bind(window);
const waiting = [];
let isAsked = false;
let spent = 0;

window.requestAnimationFrame = (callback) => waiting.push(callback);

/** Call a function with the next frame. */
export const nextFrame = (callback) => askFor(callback);

/** Give a frame to all who wait for one. */
export function draw() {
  if (isAsked || document.hidden) return;
  isAsked = true;
  askFor((time) => {
    isAsked = false;
    const begun = performance.now();
    for (const callback of waiting.splice(0)) callback(time);
    spent = performance.now() - begun;
  });
}

/** Return the milliseconds that the last announced frame took. */
export const drawingTime = () => spent;

setInterval(draw, IDLE_MILLISECONDS);
