"""tensorflow.python.client.device_lib."""
from dataclasses import dataclass

from ... import devices


@dataclass
class DeviceAttributes:
    """What TensorFlow says of a device."""

    name: str
    device_type: str
    memory_limit: int
    incarnation: int
    physical_device_desc: str

    def __repr__(self) -> str:
        lines = [f'name: "{self.name}"', f'device_type: "{self.device_type}"', f"memory_limit: {self.memory_limit}",
                 f"incarnation: {self.incarnation}"]
        if self.physical_device_desc:
            lines.append(f'physical_device_desc: "{self.physical_device_desc}"')
        return "\n".join(lines) + "\n"


def _description(number: str, row: dict) -> str:
    if not row["bus_id"]:
        return row["description"]
    return (f"device: {number}, name: {row['description'].rsplit(',', 1)[0]}, pci bus id: {row['bus_id']}, "
            f"compute capability: {row['capability']}")


def list_local_devices(session_config=None) -> list[DeviceAttributes]:
    """The devices that can train. memory_limit: all the device's memory, in bytes."""
    if session_config is not None:
        raise NotImplementedError("list_local_devices: session_config is not in cornu; it takes None")
    return [DeviceAttributes(devices.logical_name(device), device.device_type, row["memory"],
                             devices.incarnation(device.name), _description(device.name.rsplit(":", 1)[-1], row))
            for device, row in devices.usable()]
