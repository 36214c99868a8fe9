// Puts a button on each block of code that copies it, without the prompts and output of a console.
for (const block of document.querySelectorAll("div.highlight")) {
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.style.cssText = "position: absolute; top: 0.3em; right: 0.3em; font-size: 0.8em; opacity: 0.7";
  button.addEventListener("click", async () => {
    const lines = block.querySelector("pre").textContent.split("\n");
    const commands = lines.filter((line) => /^(\$|>>>|\.\.\.) /.test(line)).map((line) => line.replace(/^\S+ /, ""));
    const text = lines[0].startsWith("$ ") || lines[0].startsWith(">>> ") ? commands.join("\n") : lines.join("\n");
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.style.position = "relative";
  block.append(button);
}
